"""The wheel and the sdist, built and installed as users do."""
