"""Safe plans: which streams are joined at once or two by two so that every operator is purgeable."""
