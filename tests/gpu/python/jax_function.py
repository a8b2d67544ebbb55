# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""JAX: a function that XLA compiles."""
import os

os.environ['XLA_PYTHON_CLIENT_PREALLOCATE'] = 'false'
import jax
import jax.numpy as jnp

print('platform', jax.devices()[0].platform)
x = jnp.arange(65536, dtype=jnp.float32).reshape(256, 256)
print('sum', float(jax.jit(lambda x: jnp.where(x > 1000, x, 0).max(axis=1).sum())(x)))
