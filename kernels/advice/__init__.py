"""Which order and which layout suit a graph: decided from samples of it, by a model of what a search costs.

A sample of neighbouring rows (`gravel.kernels.advice.sample`) is put into every order and every layout
(`gravel.kernels.advice.pilot`). The bits that are counted there, the depth of the whole graph, the memory at
hand and the number of searches give each choice a time (`gravel.kernels.advice.model`), and the least wins
(`gravel.kernels.advice.decide`). Everything runs on the host and looks at no clock, so that equal graphs and
parameters get equal advice on every machine.
"""
