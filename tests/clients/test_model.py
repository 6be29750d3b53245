"""The table of S3's API model in crates/s3/src/model.txt has every member that the installed botocore has.

A member that is new there would be ignored by the server; the table's own test asks for a decision about each."""

import pathlib

import botocore.loaders

TABLE = pathlib.Path(__file__).parents[2] / "crates/s3/src/model.txt"


def installed():
    """Operation -> its headers, ?parameters and Parent/Child elements."""
    model = botocore.loaders.Loader().load_service_model("s3", "service-2")
    shapes = model["shapes"]

    def elements(shape, name, found):
        for member_name, member in shapes[shape].get("members", {}).items():
            if member.get("location") or member.get("xmlAttribute"):
                continue
            child, target = member.get("locationName", member_name), member["shape"]
            if shapes[target]["type"] == "list":
                item = shapes[target]["member"]
                target = item["shape"]
                if not (member.get("flattened") or shapes[shape].get("flattened")
                        or shapes[member["shape"]].get("flattened")):
                    found.add(f"{name}/{child}")
                    parent, child = child, item.get("locationName", "member")
                else:
                    parent, child = name, member.get("locationName", item.get("locationName", member_name))
            else:
                parent = name
            if f"{parent}/{child}" not in found:
                found.add(f"{parent}/{child}")
                if shapes[target]["type"] == "structure":
                    elements(target, child, found)

    operations = {}
    for operation, description in model["operations"].items():
        found = set()
        shape = description.get("input", {}).get("shape")
        for member in shapes[shape]["members"].values() if shape else ():
            if member.get("location") in ("header", "headers"):
                found.add(member["locationName"].lower())
            elif member.get("location") == "querystring":
                found.add("?" + member["locationName"])
        payload = shapes[shape].get("payload") if shape else None
        if payload:
            member = shapes[shape]["members"][payload]
            if shapes[member["shape"]]["type"] == "structure":
                elements(member["shape"], member.get("locationName", member["shape"]), found)
        operations[operation] = found
    return operations


def test_every_member_of_the_model_is_in_the_table():
    table = {}
    for line in TABLE.read_text().splitlines():
        if not line.startswith("#"):
            operation, *members = line.split(" ")
            table[operation] = set(members)
    missing = {
        operation: sorted(members - table.get(operation, set()))
        for operation, members in installed().items()
        if operation not in table or members - table[operation]
    }
    assert not missing, "decide about these in crates/s3/src/request_headers.rs and add them to model.txt"
