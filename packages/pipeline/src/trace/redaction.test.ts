import { parseComposition } from "@xfn/composition";
import type { Desired } from "@xfn/functionio";
import type { JsonObject, JsonValue } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";
import { describe, expect, test } from "vitest";
import { buildTrace } from "./build-trace.ts";
import { originOf } from "./origin-of.ts";
import type { Trace } from "./trace.ts";

const SECRET = "hunter2-is-not-a-password";
const BASE64 = Buffer.from(SECRET).toString("base64");

const [document] = readDocuments(`apiVersion: apiextensions.crossplane.io/v1
kind: Composition
spec: {compositeTypeRef: {apiVersion: example.org/v1, kind: XStore}, functions: []}
`);

function traced(
  states: Desired[],
  rest: { message?: string; stderr?: string; observed?: JsonValue[]; publicNames?: string[] } = {},
): Trace {
  const { message, stderr, observed = [], publicNames = [] } = rest;
  if (document === undefined) throw new Error("no document");
  return buildTrace({
    records: states.map((after, index) => ({
      name: `step-${index}`,
      kind: "function",
      inputBytes: 0,
      outputBytes: 0,
      ms: 0,
      phases: {},
      before: states[index - 1] ?? {},
      after,
      results: message === undefined ? [] : [{ severity: "Warning", message, reason: message }],
      ...(stderr !== undefined && { stderr }),
      ...(message !== undefined && { error: { code: "X", message } }),
    })),
    composite: { apiVersion: "example.org/v1", kind: "XStore", metadata: { name: "store" } },
    composition: parseComposition(document),
    observed,
    publicNames,
  });
}

const desires = (resource: JsonObject, rest: JsonObject = {}): Desired => ({
  resources: [{ name: "a", resource, ...rest }],
});
const text = (trace: Trace): string => printJson(trace as unknown as JsonObject);

test("hides secrets in what functions write to stderr", () => {
  const state = desires({ spec: { adminPassword: SECRET } });
  const [step] = traced([state], { stderr: `connects with ${SECRET}` }).steps;
  expect(step?.stderr).toMatch(/^connects with /);
  expect(step?.stderr).not.toContain(SECRET);
});

/** Desired states, each with a secret in one place. */
const PLACES: Record<string, Desired> = {
  "a connection detail of the XR": { composite: { connectionDetails: [{ name: "x", value: SECRET }] } },
  "a FromValue detail": desires({}, { connectionDetails: [{ type: "FromValue", name: "x", value: SECRET }] }),
  "an unknown field of a detail": desires(
    {},
    { connectionDetails: [{ name: "x", value: "", extra: { deep: [SECRET] } }] },
  ),
  "connection details inside a resource": desires({ spec: { connectionDetails: [{ name: "x", value: SECRET }] } }),
  "data of a Secret": desires({ apiVersion: "v1", kind: "Secret", data: { x: BASE64 } }),
  "stringData of a Secret": desires({ apiVersion: "v1", kind: "Secret", stringData: { x: SECRET } }),
  "data of a Secret that is not an object": desires({ apiVersion: "v1", kind: "Secret", data: [BASE64] }),
  "a Secret inside another object": desires({
    kind: "Object",
    spec: { manifest: { kind: "Secret", data: { x: BASE64 } } },
  }),
  "a Secret in a list": desires({ kind: "SecretList", items: [{ data: { x: BASE64 } }] }),
  "kubectl's copy of an object": desires({
    metadata: { annotations: { "kubectl.kubernetes.io/last-applied-configuration": `{"data":{"x":"${BASE64}"}}` } },
  }),
  "a password": desires({ spec: { adminPassword: SECRET } }),
  "a list of tokens": desires({ spec: { tokens: [SECRET] } }),
  "a password in a ConfigMap": desires({ kind: "ConfigMap", data: { DB_PASSWORD: SECRET } }),
  "a word of its own": desires({ kind: "ConfigMap", data: { SESSION_SECRET: SECRET } }),
  "an environment variable": desires({ spec: { env: [{ name: "API_KEY", value: SECRET }] } }),
};

describe("never shown", () => {
  test.each(Object.keys(PLACES))("%s, whether added, changed or removed", (place) => {
    const state = PLACES[place] ?? {};
    const changed = JSON.parse(
      JSON.stringify(state).replaceAll(SECRET, `x${SECRET}`).replaceAll(BASE64, `eHh4${BASE64}`),
    ) as Desired;
    for (const trace of [traced([state]), traced([state, changed]), traced([state, { resources: [] }])]) {
      expect(text(trace)).toContain('"hidden":true');
      expect(text(trace)).not.toContain(SECRET);
      expect(text(trace)).not.toContain(BASE64);
    }
    expect(traced([state, changed]).steps[1]).toMatchObject({ changed: 1 });
    expect(traced([state, state]).steps[1]).toMatchObject({ changed: 0, added: 0, removed: 0 });
  });

  const copies: Record<string, JsonObject> = {
    "as it is": { kind: "ConfigMap", data: { url: SECRET } },
    "in a longer text": { kind: "ConfigMap", data: { url: `postgres://me:${SECRET}@db` } },
    "in base64": { kind: "ConfigMap", data: { blob: BASE64 } },
  };
  test.each(Object.keys(copies))("a known secret that is copied elsewhere %s", (how) => {
    const copy = { name: "copy", resource: copies[how] ?? {} };
    for (const [place, state] of Object.entries(PLACES)) {
      if (place === "kubectl's copy of an object") continue;
      const copied: Desired = { ...state, resources: [...(state.resources ?? []), copy] };
      const shown = text(traced([{ resources: [copy] }, copied], { message: `cannot connect with ${SECRET}!` }));
      expect({ place, shown: shown.includes(SECRET) || shown.includes(BASE64) }).toEqual({ place, shown: false });
      expect(shown).toContain("cannot connect with (hidden)!");
    }
  });

  test("a secret of an existing object, which a function copied", () => {
    const observed = [{ apiVersion: "v1", kind: "Secret", data: { x: BASE64 } }];
    const trace = traced([desires({ kind: "ConfigMap", data: { x: SECRET } })], { observed, message: SECRET });
    expect(text(trace)).not.toContain(SECRET);
  });

  test("the origin of a hidden field is still known", () => {
    const trace = traced([desires({ spec: { password: SECRET } })]);
    expect(originOf(trace, "a", "spec.password")).toEqual([
      { part: "resource", path: "spec.password", hidden: true, origin: { step: "step-0", stepIndex: 0 } },
    ]);
  });
});

describe("shown", () => {
  const shown: Record<string, [resource: JsonObject, path: string]> = {
    "the name of a Secret": [{ status: { connectionSecret: "orders-app" } }, "status.connectionSecret"],
    "where a password is": [
      { spec: { passwordSecretRef: { name: "db", key: "password" } } },
      "spec.passwordSecretRef.key",
    ],
    "where a password comes from": [
      { spec: { password: { secretKeyRef: { name: "db" } } } },
      "spec.password.secretKeyRef.name",
    ],
    "a switch": [{ spec: { automountServiceAccountToken: false } }, "spec.automountServiceAccountToken"],
    "a pull secret's name": [{ spec: { imagePullSecrets: [{ name: "registry" }] } }, "spec.imagePullSecrets[0].name"],
    "data of a ConfigMap": [{ kind: "ConfigMap", data: { url: "x" } }, "data.url"],
    "an ordinary variable": [{ env: [{ name: "MODE", value: "fast" }] }, "env[0].value"],
    "an empty password": [{ spec: { password: "" } }, "spec.password"],
  };
  test.each(Object.keys(shown))("%s", (what) => {
    const [resource, path] = shown[what] ?? [{}, ""];
    expect(originOf(traced([desires(resource)]), "a", path)).toMatchObject([{ value: expect.anything() as unknown }]);
  });

  test("the source of a connection detail", () => {
    const details = [{ name: "user", type: "FromConnectionSecretKey", fromConnectionSecretKey: "username" }];
    expect(text(traced([desires({}, { connectionDetails: details })]))).not.toContain("hidden");
  });

  test("names that a connection detail publishes", () => {
    const resource = { kind: "Database", metadata: { name: "orders-database" }, spec: { ref: "orders-database" } };
    const details = ["orders-database", "Database"].map((value) => ({ type: "FromValue", name: value, value }));
    const trace = traced([desires(resource, { connectionDetails: details })], { message: "orders-database is new" });
    expect(originOf(trace, "a", "metadata.name")).toMatchObject([{ value: "orders-database" }]);
    expect(originOf(trace, "a", "spec.ref")).toMatchObject([{ value: "orders-database" }]);
    expect(originOf(trace, "a", "kind")).toMatchObject([{ value: "Database" }]);
    expect(text(trace)).toContain("orders-database is new");
    expect(text(trace)).toContain('"hidden":true');
  });

  test("a short text that happens to be a secret somewhere else", () => {
    const trace = traced([desires({ kind: "Secret", stringData: { user: "admin" }, type: "admin" })]);
    expect(originOf(trace, "a", "type")).toMatchObject([{ value: "admin" }]);
  });
});

describe("a secret in a longer text is not shown", () => {
  const PASSWORD = 'Tr0ub4dor & "3"/horse<staple>';
  const LINE = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC";
  const KEY = `-----BEGIN PRIVATE KEY-----\n${LINE}\n-----END PRIVATE KEY-----\n`;
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const goJson = (text: string): string => JSON.stringify(text).replaceAll("<", "\\u003c").replaceAll("&", "\\u0026");
  const texts: Record<string, string> = {
    "within JSON": JSON.stringify({ config: PASSWORD }),
    "within JSON of Go": `{"config":${goJson(PASSWORD).replaceAll(">", "\\u003e")}}`,
    "within a URL": `pg://me:${encodeURIComponent(PASSWORD)}@db`,
    "in base64 after 1 byte": `Basic ${base64(`:${PASSWORD}`)}`,
    "in base64 after 2 bytes": `Basic ${base64(`u:${PASSWORD}`)}`,
    "in base64 after 3 bytes": `Basic ${base64(`me:${PASSWORD}`)}`,
    "in base64 before 1 byte": base64(`${PASSWORD}\n`),
    "in base64 before 2 bytes": base64(`${PASSWORD}\n\n`),
    "in base64 in the middle": base64(`#!/bin/sh\nlogin '${PASSWORD}' && start`),
    "in base64 of URLs": Buffer.from(`?${PASSWORD}?`).toString("base64url"),
    "of several lines within JSON": JSON.stringify({ config: KEY }),
    "of several lines in a block of YAML": `config: |\n${KEY.replace(/^/gm, "  ")}`,
  };
  test.each(Object.keys(texts))("%s", (how) => {
    const stringData = { one: PASSWORD, two: KEY };
    const data = { one: base64(PASSWORD), two: base64(KEY) };
    const copy = { name: "copy", resource: { kind: "ConfigMap", data: { config: texts[how] ?? "" } } };
    for (const secret of [{ stringData }, { data }]) {
      const resources = [{ name: "a", resource: { kind: "Secret", ...secret } }, copy];
      const trace = traced([{ resources }], { message: texts[how] ?? "" });
      expect(originOf(trace, "copy", "data.config")).toMatchObject([{ hidden: true }]);
      expect(trace.steps[0]?.results[0]?.message).toContain("(hidden)");
    }
  });
});

test("none of many secrets with a common start is shown", () => {
  const secrets = Array.from({ length: 100 }, (_, index) => `secret-number-${index}-x`);
  const stringData = Object.fromEntries(secrets.map((secret, index) => [`k${index}`, secret]));
  const copies = secrets.map((secret) => `copy of ${secret}`);
  const trace = traced([desires({ kind: "Secret", stringData, copies })], { message: secrets.join(" ") });
  expect(secrets.filter((secret) => text(trace).includes(secret))).toEqual([]);
});

describe("a public name shows its values everywhere", () => {
  const VALUE = "db.example.org:5432";
  const places: Record<string, Desired> = {
    "a connection detail": desires(
      { spec: { host: VALUE } },
      { connectionDetails: [{ name: "public", value: VALUE }] },
    ),
    "a key of a Secret": desires({ kind: "Secret", stringData: { public: VALUE } }),
    "a variable": desires({ env: [{ name: "PUBLIC_TOKEN", value: VALUE }] }),
    "a field": desires({ spec: { publicToken: VALUE } }),
  };
  test.each(Object.entries(places))("%s", (_, state) => {
    expect(text(traced([state]))).not.toContain(VALUE);
    const publicNames = ["public", "PUBLIC_TOKEN", "publicToken"];
    const trace = traced([state], { publicNames, message: VALUE });
    expect(text(trace)).toContain(VALUE);
    expect(text(trace)).not.toContain('"hidden"');
  });

  test("but not the values of other names", () => {
    const trace = traced([desires({ kind: "Secret", stringData: { public: VALUE, other: SECRET } })], {
      publicNames: ["public"],
    });
    expect(text(trace)).not.toContain(SECRET);
  });
});
