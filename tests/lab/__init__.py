# SPDX-License-Identifier: ISC
"""Private servers for the tests and the demo: real ones in a temporary directory, and simulated ones that misbehave."""
