"""The engines of SKWS as arrays: operators of candidate networks, in a full or a partial mesh."""
