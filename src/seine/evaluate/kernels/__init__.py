"""Vectorised kernels of the functions and operators, one file for each family.

A kernel gets the call and its evaluated arguments: arrays of one length, or scalars for what is
the same in every row, at least one of them an array. It returns an array of the call's type.
A row that fails is NULL; a kernel never raises because of a value.
"""
