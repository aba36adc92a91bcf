"""The documentation of the API as one page without scripts, from its OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from leaderboard.board.rendering import render

Schema = Mapping[str, Any]


class Parameter(NamedTuple):
    """A parameter of an operation."""

    name: str
    place: str                              # path or query
    required: bool
    kind: str
    default: str
    description: str


class Operation(NamedTuple):
    """An operation with an example request."""

    id: str
    method: str
    path: str
    tag: str
    summary: str
    description: str
    parameters: list[Parameter]
    example: str
    responses: dict[str, str]               # descriptions by status


class Model(NamedTuple):
    """A response model with the types of its fields."""

    name: str
    description: str
    fields: dict[str, str]


def render_api_docs(openapi: Schema, base: str) -> str:
    """Return the page of all operations and response models."""
    schemas = openapi["components"]["schemas"]
    operations = [read_operation(openapi, method, path, operation, base.rstrip("/")) for path, item in openapi["paths"].items()
                  for method, operation in item.items()]
    models = [Model(name, schema.get("description", ""), {field: describe_type(openapi, value) for field, value in schema["properties"].items()})
              for name, schema in sorted(schemas.items()) if "properties" in schema]
    return str(render("api_docs.html", info=openapi["info"], operations=operations, models=models))


def read_operation(openapi: Schema, method: str, path: str, operation: Schema, base: str) -> Operation:
    """Return an operation of an OpenAPI document."""
    parameters = operation.get("parameters", [])
    described = [Parameter(item["name"], item["in"], item["required"], describe_type(openapi, item["schema"]), str(item["schema"].get("default", "")),
                           item.get("description", "")) for item in parameters]
    responses = {status: response["description"] + "".join(
        f" ({describe_type(openapi, content.get('schema', {}))})" for content in list(response.get("content", {}).values())[:1])
        for status, response in operation["responses"].items()}
    return Operation(operation["operationId"], method.upper(), path, operation["tags"][0], operation["summary"], operation.get("description", ""),
                     described, make_example(path, parameters, base), responses)


def make_example(path: str, parameters: list[Schema], base: str) -> str:
    """Return a request with the required parameters, and the first optional one that has an example."""
    values = {item["name"]: str(item["schema"]["examples"][0]) for item in parameters if "examples" in item["schema"]}
    needed = [item["name"] for item in parameters if item["in"] == "query" and item["required"]]
    optional = [item["name"] for item in parameters if item["in"] == "query" and not item["required"] and item["name"] in values]
    query = {name: values[name] for name in (needed or optional[:1])}
    filled = path.format(**{item["name"]: quote(values.get(item["name"], item["name"].upper())) for item in parameters if item["in"] == "path"})
    target = filled if not query else f"{filled}?{urlencode(query, safe=',')}"
    return f"curl '{base}{target}'"


def describe_type(openapi: Schema, schema: Schema) -> str:
    """Return a type in a few words: its choices, the name of a model, or a JSON type."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        target = openapi["components"]["schemas"][name]
        return describe_type(openapi, target) if "enum" in target else name
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(describe_type(openapi, choice) for choice in schema["anyOf"]))
    if schema.get("type") == "array" and "items" in schema:
        return f"list of {describe_type(openapi, schema['items'])}"
    return str(schema.get("format") or schema.get("type", "any"))
