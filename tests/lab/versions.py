# SPDX-License-Identifier: ISC
"""Programs of several versions, for tests of upgrades: the one under test, with an engine whose schema is artificial (tests/upgrade).
Version 1 installs a ledger that lacks a column, version 2 upgrades it. Version LATER is one after the program under test."""

import os
import shutil

import pytest

from . import lab as lab_module
from .ledger import MARIADB, SQLITE, engine

LATER = 999


class Versions:
    def __init__(self, site, monkeypatch):
        self.site, self.monkeypatch = site, monkeypatch
        self.build = lab_module.build()

    def program(self, number):
        """The path of a program of this version."""
        module = f"oncedrop-{engine()}.so"
        path = os.path.join(self.build, "upgrade", str(number), module)
        if not os.path.exists(path):
            pytest.fail(f"there is no {path}; run: make upgrade-modules")
        directory = self.site.lab.new_directory("program")
        program = lab_module.copy_program(directory)
        shutil.copy(path, os.path.join(directory, module))
        return program

    def use(self, number):
        """From now on the site's program is of this version."""
        self.monkeypatch.setenv("ONCEDROP", self.program(number))

    def start_as_owner(self, *words, **more):
        """Starts a command of the schema's owner."""
        conninfo = self.site.ledger.settings(lab_module.OWNER)["database.conninfo"]
        return self.site.start(*words, options=["-o", f"database.conninfo={conninfo}"], **more)

    def as_owner(self, *words, **more):
        return self.start_as_owner(*words, **more).finish()

    def new_database(self):
        """The site's ledger is in a new database from now on, without a schema."""
        site = self.site
        if engine() == SQLITE:
            site.database = os.path.join(site.lab.new_directory("ledger"), "ledger.db")
        elif engine() == MARIADB:
            site.database = site.lab.mariadb.create_database(lab_module.OWNER)
        else:
            site.database = site.lab.postgres.create_database(lab_module.OWNER)
        site.settings.update(site.ledger.settings(lab_module.DELIVERY))

    def install(self, **more):
        """Lets the program install its schema in the site's new database."""
        self.site.trusting = False      # that table is not there yet
        self.new_database()
        done = self.as_owner("ledger", "install", **more)
        assert done.exit == 0, done
        self.site.trusting = True
