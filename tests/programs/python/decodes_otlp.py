"""Prints the profiles in requests of OTLP, as OpenTelemetry's own code reads them, as JSON: decodes_otlp.py FILE…"""

import json, sys
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2 as service
from opentelemetry.proto.profiles.v1development import profiles_pb2 as model


def value(any_value):
    return getattr(any_value, any_value.WhichOneof("value"))


def known(message):
    """Fails on a field that the protocol does not have."""
    assert len(UnknownFieldSet(message)) == 0, message
    for field, content in message.ListFields():
        if field.message_type:
            for part in [content] if isinstance(content, Message) else content:
                known(part)


profiles = []
for path in sys.argv[1:]:
    request = service.ExportProfilesServiceRequest()
    request.ParseFromString(open(path, "rb").read())
    words = request.dictionary
    text = words.string_table
    # The first row of each table is the empty one, and others are used.
    assert text[0] == ""
    for table, empty in [
        (words.mapping_table, model.Mapping()),
        (words.location_table, model.Location()),
        (words.function_table, model.Function()),
        (words.link_table, model.Link()),
        (words.attribute_table, model.KeyValueAndUnit()),
        (words.stack_table, model.Stack()),
    ]:
        assert table[0] == empty and all(row != empty for row in table[1:]), table
    known(request)
    attributes = lambda indices: {
        text[words.attribute_table[index].key_strindex]: value(words.attribute_table[index].value) for index in indices
    }
    for of_resource in request.resource_profiles:
        resource = {one.key: value(one.value) for one in of_resource.resource.attributes}
        for of_scope in of_resource.scope_profiles:
            for profile in of_scope.profiles:
                stacks = {}
                for sample in profile.samples:
                    frames = []
                    for place in words.stack_table[sample.stack_index].location_indices:
                        location = words.location_table[place]
                        mapping = words.mapping_table[location.mapping_index]
                        assert not location.mapping_index or (
                            mapping.memory_start <= location.address < mapping.memory_limit
                        )
                        frames += [text[words.function_table[line.function_index].name_strindex] for line in location.lines]
                    stacks["<".join(frames)] = stacks.get("<".join(frames), 0) + sum(sample.values)
                profiles.append(
                    {
                        "type": text[profile.sample_type.type_strindex],
                        "unit": text[profile.sample_type.unit_strindex],
                        "id": profile.profile_id.hex(),
                        "time": profile.time_unix_nano,
                        "duration": profile.duration_nano,
                        "sum": sum(stacks.values()),
                        "stacks": stacks,
                        "attributes": [attributes(sample.attribute_indices) for sample in profile.samples][:1],
                        "resource": resource,
                        "scope": of_scope.scope.name,
                    }
                )
print(json.dumps(profiles))
