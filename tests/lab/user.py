# SPDX-License-Identifier: ISC
"""Ordinary users of this system; only root can become one."""

USER, OTHER = "games", "news"     # on every Debian; in no group but their own

BECOME = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
