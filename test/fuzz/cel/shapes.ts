import type { JsonObject, JsonValue } from "@xfn/json";

/** A schema for `self`, with values that are valid without rules, and some that are not. */
export interface Shape {
  readonly name: string;
  readonly schema: JsonObject;
  readonly values: readonly JsonValue[];
}

const text: JsonObject = { type: "string", maxLength: 40 };
const whole: JsonObject = { type: "integer", minimum: -1000, maximum: 100_000 };

function listOf(items: JsonObject, extra: JsonObject = { maxItems: 8 }): JsonObject {
  return { type: "array", items, ...extra };
}

/** An object with fields of all types. Its fields are those that the generator of expressions knows. */
const RECORD: JsonObject = {
  type: "object",
  properties: {
    name: text,
    mode: { type: "string", enum: ["Auto", "Manual", "Off"] },
    image: { type: "string", maxLength: 200 },
    free: { type: "string" },
    replicas: whole,
    min: whole,
    max: whole,
    ratio: { type: "number" },
    paused: { type: "boolean" },
    port: { "x-kubernetes-int-or-string": true, maxLength: 20 },
    since: { type: "string", format: "date-time" },
    day: { type: "string", format: "date" },
    timeout: { type: "string", format: "duration" },
    data: { type: "string", format: "byte", maxLength: 100 },
    tags: listOf(text),
    zones: listOf(text, { "x-kubernetes-list-type": "set", maxItems: 8 }),
    numbers: listOf(whole),
    ratios: listOf({ type: "number" }),
    labels: { type: "object", maxProperties: 8, additionalProperties: text },
    counts: { type: "object", maxProperties: 8, additionalProperties: whole },
    ports: listOf(
      { type: "object", required: ["name"], properties: { name: text, number: whole, protocol: text } },
      { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], maxItems: 8 },
    ),
    matches: listOf({
      type: "object",
      properties: {
        path: text,
        method: text,
        headers: listOf({ type: "object", properties: { name: text, value: text } }),
      },
    }),
    nested: {
      type: "object",
      properties: {
        enabled: { type: "boolean" },
        size: text,
        limit: whole,
        inner: { type: "object", properties: { key: text } },
      },
    },
    other: { type: "object", properties: { enabled: { type: "boolean" }, size: text } },
    maybe: { type: "string", nullable: true, maxLength: 20 },
    open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    resource: {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      "x-kubernetes-preserve-unknown-fields": true,
    },
    namespace: text,
    "foo-bar": text,
    "a.b/c": whole,
    __odd__: text,
  },
};

const FULL: JsonObject = {
  name: "web-1",
  mode: "Auto",
  image: "registry.example.org/team/app:v1.2.3",
  free: "text",
  replicas: 3,
  min: 1,
  max: 5,
  ratio: 0.5,
  paused: false,
  port: 8080,
  since: "2024-02-29T12:30:45.123456789Z",
  day: "2024-02-29",
  timeout: "1h30m",
  data: "aGVsbG8=",
  tags: ["a", "b", "a"],
  zones: ["z1", "z2"],
  numbers: [3, 1, 2],
  ratios: [0.25, 1.5, 2],
  labels: { app: "web", "example.org/team": "shop" },
  counts: { a: 1, b: 2 },
  ports: [
    { name: "http", number: 80, protocol: "TCP" },
    { name: "dns", number: 53, protocol: "UDP" },
  ],
  matches: [{ path: "/", method: "GET", headers: [{ name: "x", value: "1" }] }, { method: "PUT" }],
  nested: { enabled: true, size: "10Gi", limit: 10, inner: { key: "k" } },
  other: { enabled: true, size: "10Gi" },
  maybe: null,
  open: { any: ["thing", 1], more: { x: true } },
  resource: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", labels: { a: "b" } }, data: { k: "v" } },
  namespace: "shop",
  "foo-bar": "dash",
  "a.b/c": 7,
  __odd__: "odd",
};

const OTHER: JsonObject = {
  name: "db",
  mode: "Off",
  image: "app",
  free: "ünïcödé 🎉",
  replicas: 0,
  min: 5,
  max: 5,
  ratio: 2,
  paused: true,
  port: "50%",
  since: "1999-12-31T23:59:59+02:00",
  day: "2000-01-01",
  timeout: "90s",
  tags: [],
  zones: ["z2", "z1"],
  numbers: [1, 2, 3],
  labels: { tier: "db" },
  counts: { a: 5 },
  ports: [{ name: "dns", number: 53, protocol: "UDP" }],
  matches: [],
  nested: { enabled: false },
  maybe: "x",
  namespace: "",
};

/** The shape whose fields the generated rules read. */
export const RECORD_SHAPE: Shape = {
  name: "record",
  schema: RECORD,
  values: [FULL, OTHER, {}, { ...FULL, unknown: 1, nested: { enabled: true, nope: 2 } }, { ...OTHER, replicas: "x" }],
};

/** Values of one type each. */
export const SIMPLE_SHAPES: readonly Shape[] = [
  {
    name: "string",
    schema: text,
    values: ["", "web-1", "Ünï 🎉", "10.0.0.1", "https://a.example:8080/p?q=1", "1.2.3", 5],
  },
  { name: "string", schema: { type: "string" }, values: ["", "abc", "500m", "2001:db8::1", "10.0.0.0/8"] },
  { name: "integer", schema: whole, values: [0, 7, -3, 100_000, 2.5] },
  { name: "number", schema: { type: "number" }, values: [0, 1.5, -2, 1e21] },
  { name: "boolean", schema: { type: "boolean" }, values: [true, false] },
  { name: "list", schema: listOf(text), values: [[], ["a"], ["b", "a", "b"]] },
  {
    name: "set",
    schema: listOf(text, { "x-kubernetes-list-type": "set", maxItems: 5 }),
    values: [[], ["a", "b"], ["b", "a"], ["a", "a"]],
  },
  { name: "numbers", schema: listOf(whole), values: [[], [1], [3, 2, 1, 3]] },
  {
    name: "map",
    schema: { type: "object", maxProperties: 5, additionalProperties: text },
    values: [{}, { a: "x" }, { "b/c": "y", a: "" }],
  },
  { name: "either", schema: { "x-kubernetes-int-or-string": true }, values: [1, "50%", "", 0] },
  {
    name: "time",
    schema: { type: "string", format: "date-time" },
    values: ["2024-02-29T12:30:45Z", "1970-01-01T00:00:00Z"],
  },
  { name: "duration", schema: { type: "string", format: "duration" }, values: ["1h", "90s", "0"] },
  { name: "bytes", schema: { type: "string", format: "byte", maxLength: 50 }, values: ["aGVsbG8=", "aGk="] },
];
