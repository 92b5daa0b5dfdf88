"""Makes Neutron's tables in an empty sqlite file.

Neutron's migrations do not run on sqlite, so the tables come from its models. The only rows that the migrations would
have added are the default security group rules; without them a new group would have no rules at all.

    initdb.py FILE
"""
import sys
import uuid

from neutron.db.migration.models import head  # noqa: F401  (loads every model)
from neutron_lib.db import model_base
from sqlalchemy import create_engine, text

# direction, ethertype, remote group, whether a group that is not "default" gets it too
DEFAULT_RULES = [
    ("egress", "IPv4", None, 1),
    ("egress", "IPv6", None, 1),
    ("ingress", "IPv4", "PARENT", 0),
    ("ingress", "IPv6", "PARENT", 0),
]

engine = create_engine("sqlite:///" + sys.argv[1])
with engine.connect() as connection:
    connection.execute(text("PRAGMA journal_mode=WAL"))
model_base.BASEV2.metadata.create_all(engine)
with engine.begin() as connection:
    for number, (direction, ethertype, remote, everywhere) in enumerate(DEFAULT_RULES, start=1):
        connection.execute(
            text(
                "insert into standardattributes (id, resource_type, revision_number, created_at, updated_at)"
                " values (:id, 'securitygroupdefaultrules', 0, current_timestamp, current_timestamp)"
            ),
            {"id": number},
        )
        connection.execute(
            text(
                "insert into securitygroupdefaultrules (id, standard_attr_id, remote_group_id, direction, ethertype,"
                " used_in_default_sg, used_in_non_default_sg) values (:id, :attr, :remote, :dir, :eth, 1, :all)"
            ),
            {"id": str(uuid.uuid4()), "attr": number, "remote": remote, "dir": direction, "eth": ethertype, "all": everywhere},
        )
# Into the file itself, so that a copy of that one file is a copy of the database.
with engine.connect() as connection:
    connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
