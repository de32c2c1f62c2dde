# SPDX-License-Identifier: ISC
"""A private PgBouncer as conf/pgbouncer sets it up, for all databases: unix sockets, and no passwords."""

from . import lab as lab_module, pgbouncer, process


class PgBouncer(pgbouncer.PgBouncer):
    """login: the user who connects, and the role; Postgres.let_pooler_in() is for it."""

    def __init__(self, directory, postgres, login):
        super().__init__(directory, postgres, {login: ""})
        self.login = login

    def configuration(self):
        with open(self.path("hba"), "w", encoding="ascii") as file:
            file.write(lab_module.example("pgbouncer", "oncedrop_hba",
                                          **{"local   oncedrop   oncedrop": f"local all {self.login}"}))
        return lab_module.example("pgbouncer", "pgbouncer.ini", **{
            "oncedrop = host=/run/postgresql port=5432 dbname=oncedrop":
                f"* = host={self.postgres.directory} port={self.postgres.port}",
            "unix_socket_dir = /run/postgresql": f"unix_socket_dir = {self.directory}",
            "listen_port = 6432": f"listen_port = {self.port}",
            "/etc/pgbouncer/oncedrop_hba": self.path("hba"),
            "/etc/pgbouncer/userlist.txt": self.path("users"),
        })

    def answers(self):
        return process.is_listening(self.path(f".s.PGSQL.{self.port}"))

    def conninfo(self, database):
        return (f"host={self.directory} port={self.port} dbname={database} user={self.login}"
                f" requirepeer={self.user.pw_name}")
