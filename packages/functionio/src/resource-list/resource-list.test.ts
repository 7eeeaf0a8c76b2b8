import { readFileSync } from "node:fs";
import type { JsonValue, KubernetesObject } from "@xfn/json";
import { printJson } from "@xfn/json/text";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { API_VERSION, type FunctionIO, KIND } from "../function-io/functionio.ts";
import { FunctionIOError } from "../function-io/functionio-error.ts";
import { outputLimits } from "../function-io/output-limits.ts";
import { parseFunctionIO } from "../function-io/parse.ts";
import { printFunctionIO } from "../function-io/print.ts";
import { fromResourceList } from "./from-resource-list.ts";
import { parseResourceList } from "./parse-resource-list.ts";
import type { ResourceList, ResourceListForm } from "./resource-list.ts";
import { toResourceList } from "./to-resource-list.ts";

const TYPE = "fn.apiextensions.crossplane.io/type";
const NAME = "fn.apiextensions.crossplane.io/name";
const XR: KubernetesObject = { apiVersion: "e.org/v1", kind: "X", metadata: { name: "x", uid: "1" }, spec: { n: 1 } };
const XR_ITEM = { ...XR, metadata: { ...XR.metadata, annotations: { [TYPE]: "CompositeResource" } } };

function io(fields: Partial<FunctionIO>): FunctionIO {
  return { apiVersion: API_VERSION, kind: KIND, observed: { composite: { resource: XR } }, ...fields };
}

function listOf(items: JsonValue[], fields: Record<string, JsonValue> = {}): string {
  return printJson({ apiVersion: "config.kubernetes.io/v1", kind: "ResourceList", items, ...fields });
}

/** Passes the state through a function that returns its input, over the wire. */
function throughFunction(given: FunctionIO, form: ResourceListForm = "ResourceList"): FunctionIO {
  return fromResourceList(parseResourceList(printJson(toResourceList(given, form))), given);
}

function failure(run: () => unknown): FunctionIOError {
  try {
    run();
  } catch (error) {
    if (error instanceof FunctionIOError) return error;
    throw error;
  }
  throw new Error("expected a FunctionIOError");
}

/** An item of a composed resource. */
function item(annotations: Record<string, string>, rest: Record<string, JsonValue> = {}): JsonValue {
  return { apiVersion: "v1", kind: "A", metadata: { name: "a", annotations }, ...rest };
}

describe("properties", () => {
  const key = fc.oneof(fc.constantFrom("__proto__", "constructor", "a", "b"), fc.string({ maxLength: 5 }));
  const text = fc.string({ maxLength: 8 });
  const value: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      text,
      fc.boolean(),
      fc.constant(null),
      fc.constantFrom<JsonValue>(9223372036854775807n, -9007199254740993n, 9007199254740991, 1.5),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(key, tie("value"), { maxKeys: 3 }),
    ),
  })).value;
  const metadata = fc.record(
    { name: text, labels: fc.dictionary(key, text), annotations: fc.dictionary(key, text), finalizers: value },
    { requiredKeys: [] },
  );
  const object = fc.record(
    { apiVersion: fc.constant("v1"), kind: fc.constant("A"), metadata, spec: value, status: value, data: value },
    { requiredKeys: ["kind"] },
  );
  const entry = fc.record({
    name: fc.string({ minLength: 1, maxLength: 5 }),
    resource: fc.option(object),
    connectionDetails: fc.constantFrom([], [{ name: "k", fromConnectionSecretKey: "s" }]),
  });
  const entries = fc.uniqueArray(entry, { maxLength: 4, selector: ({ name }) => name });
  const form = fc.constantFrom<ResourceListForm>("ResourceList", "KRM");
  /** As the parser returns it: with null prototypes, and without nulls for objects. */
  const read = (fields: object): FunctionIO => parseFunctionIO(printFunctionIO(io(fields as Partial<FunctionIO>)));
  const byName = ({ desired }: FunctionIO): unknown =>
    [...(desired?.resources ?? [])].toSorted((a, b) => (a.name < b.name ? -1 : 1)).map((one) => printJson(one));

  test("any desired state survives", () => {
    fc.assert(
      fc.property(entries, fc.dictionary(key, value), form, (resources, config, as) => {
        const given = read({ desired: { composite: { resource: XR }, resources }, config });
        const after = throughFunction(given, as);
        expect(byName(after)).toEqual(byName(given));
        expect(printJson(after.desired?.composite ?? null)).toBe(printJson(given.desired?.composite ?? null));
        expect(printJson(toResourceList(given, as).functionConfig ?? null)).toBe(printJson(given.config ?? null));
      }),
    );
  });

  test("desired state that is laid over observed state survives, and a second time changes nothing", () => {
    fc.assert(
      fc.property(entries, entries, form, (resources, existing, as) => {
        const objects = existing.flatMap(({ name, resource }) => (resource === null ? [] : [{ name, resource }]));
        const observed = { composite: { resource: XR }, resources: objects };
        const given = read({ desired: { resources }, observed });
        const once = throughFunction(given, as);
        expect(byName(throughFunction(once, as))).toEqual(byName(once));
        for (const { name, resource } of given.desired?.resources ?? []) {
          const after = once.desired?.resources?.find((one) => one.name === name)?.resource;
          if (resource === null) expect(after).toBeNull();
          else expect(Object.keys(after ?? {})).toEqual(expect.arrayContaining(Object.keys(resource)));
        }
      }),
    );
  });
});

describe("the list", () => {
  const given = io({
    config: { apiVersion: "v1", kind: "ConfigMap", data: { n: 9007199254740993n } },
    observed: {
      composite: { resource: XR },
      resources: [
        {
          name: "a",
          resource: {
            apiVersion: "v1",
            kind: "A",
            metadata: { name: "a-1", uid: "2" },
            spec: { m: 1 },
            status: { ok: true },
          },
        },
        { name: "old", resource: { apiVersion: "v1", kind: "B", metadata: { name: "b-1" } } },
      ],
    },
    desired: {
      composite: { connectionDetails: [{ name: "k", value: "v" }] },
      resources: [
        { name: "a", resource: { apiVersion: "v1", kind: "A", spec: { n: 2 } }, readinessChecks: [{ type: "None" }] },
        { name: "new", resource: { apiVersion: "v1", kind: "C" } },
        { name: "gone", resource: null },
      ],
    },
    results: [{ severity: "Error", message: "m" }],
  });

  test("has the config, the XR first, and desired state laid over observed state", () => {
    const list = toResourceList(given);
    expect(list).toMatchObject({
      apiVersion: "fn.apiextensions.crossplane.io/v1alpha1",
      kind: "ResourceList",
      functionConfig: { data: { n: 9007199254740993n } },
      results: [{ severity: "Error" }],
    });
    expect(list.items.map(({ metadata }) => metadata?.annotations)).toEqual([
      { [TYPE]: "CompositeResource" },
      { [TYPE]: "ComposedResource", [NAME]: "a" },
      { [TYPE]: "ComposedResource", [NAME]: "new" },
      { [TYPE]: "ComposedResource", [NAME]: "old" },
    ]);
    expect(list.items[1]).toMatchObject({ metadata: { name: "a-1" }, spec: { m: 1, n: 2 }, status: { ok: true } });
    expect(list.items[2]?.metadata?.name).toBe("new");
  });

  test("has the version and the words of KRM for KRM functions", () => {
    const list = toResourceList(given, "KRM");
    expect(list).toMatchObject({ apiVersion: "config.kubernetes.io/v1", results: [{ severity: "error" }] });
  });

  test("comes back without annotations, status and metadata of the server, with what it cannot carry", () => {
    const { desired } = throughFunction(given);
    expect(desired).toEqual({
      composite: { resource: { ...XR, metadata: { name: "x" } }, connectionDetails: [{ name: "k", value: "v" }] },
      resources: [
        {
          name: "a",
          resource: { apiVersion: "v1", kind: "A", metadata: { name: "a-1" }, spec: { m: 1, n: 2 } },
          readinessChecks: [{ type: "None" }],
        },
        { name: "new", resource: { apiVersion: "v1", kind: "C" } },
        { name: "old", resource: { apiVersion: "v1", kind: "B", metadata: { name: "b-1" } } },
        { name: "gone", resource: null },
      ],
    });
  });

  test("leaves out an entry without an item", () => {
    const list = toResourceList(given);
    list.items.splice(1, 2);
    expect(fromResourceList(list, given).desired?.resources?.map(({ name }) => name)).toEqual(["old", "gone"]);
  });

  test("loses the annotations that KRM libraries add, and keeps those that were there", () => {
    const mine = { "config.kubernetes.io/path": "mine.yaml" };
    const resources = [{ name: "a", resource: { kind: "A", metadata: { annotations: mine } } }];
    const start = io({ desired: { resources } });
    const list = toResourceList(start, "KRM");
    const annotations = list.items[1]?.metadata?.annotations;
    Object.assign(annotations ?? {}, { "internal.config.kubernetes.io/index": "1", "config.kubernetes.io/index": "1" });
    expect(fromResourceList(list, start).desired?.resources).toEqual(resources);
  });

  test.each([
    ["error", "Fatal"],
    ["Error", "Fatal"],
    ["Fatal", "Fatal"],
    ["warning", "Warning"],
    ["info", "Normal"],
    [undefined, "Normal"],
    ["Odd", "Odd"],
  ])("severity %s means %s", (severity, expected) => {
    const results = [{ ...(severity !== undefined && { severity }), message: "m", field: { path: "spec" } }];
    const list = parseResourceList(listOf([XR_ITEM], { results }));
    expect(fromResourceList(list, io({})).results).toEqual([
      { severity: expected, message: "m", field: { path: "spec" } },
    ]);
  });
});

/** The examples of the first draft of Crossplane's design document "Composition Functions", verbatim. */
function example(name: string): string {
  return readFileSync(new URL(`../../fixtures/function-api/${name}.yaml`, import.meta.url), "utf8");
}

describe("the examples of the first draft", () => {
  const given = io({
    config: { apiVersion: "database.example.org/v1alpha1", kind: "Config", metadata: { name: "cloudsql" } },
    observed: { composite: { resource: parseResourceList(example("resource-list")).items[0] as KubernetesObject } },
  });
  /** The XR as the function received it, without our annotation. */
  const xr = fromResourceList(parseResourceList(example("resource-list")), given).desired?.composite?.resource;
  const withXr = io({ ...given, observed: { composite: { resource: xr as KubernetesObject } } });
  const inCluster: KubernetesObject = { ...xr, metadata: { ...xr?.metadata, namespace: "team", uid: "1" } };

  test("the answer is accepted for an XR that the API server has stored", () => {
    const stored = io({ ...given, observed: { composite: { resource: inCluster } } });
    const answer = parseResourceList(example("resource-list-answer"));
    delete answer.results;
    const { desired } = fromResourceList(answer, stored);
    expect(desired?.composite?.resource).toEqual({ ...xr, metadata: { ...xr?.metadata, namespace: "team" } });
    expect(desired?.resources).toHaveLength(1);
  });

  test("the list that a function reads is one that it may return, without a change", () => {
    const list = parseResourceList(example("resource-list"));
    expect(list).toMatchObject({
      apiVersion: "fn.apiextensions.crossplane.io/v1",
      items: [{ kind: "XPostgreSQLInstance" }],
    });
    expect(toResourceList(withXr).items).toEqual(list.items);
    expect(fromResourceList(list, withXr).desired).toEqual({ composite: { resource: xr } });
  });

  test("the list that it returns composes a CloudSQLInstance, and has a fatal result", () => {
    const { desired, results } = fromResourceList(parseResourceList(example("resource-list-answer")), withXr);
    expect(desired?.composite).toEqual({ resource: xr });
    expect(desired?.resources).toEqual([
      {
        name: "cloudsqlinstance",
        resource: {
          apiVersion: "database.gcp.crossplane.io/v1beta1",
          kind: "CloudSQLInstance",
          metadata: { name: "cloudsqlpostgresql" },
          spec: {
            forProvider: {
              databaseVersion: "POSTGRES_9_6",
              region: "us-central1",
              settings: { tier: "db-custom-1-3840", dataDiskType: "PD_SSD", dataDiskSizeGb: 20 },
            },
            writeConnectionSecretToRef: { namespace: "crossplane-system", name: "cloudsqlpostgresql-conn" },
          },
        },
      },
    ]);
    expect(results).toEqual([
      { severity: "Fatal", message: "Could not render Database.postgresql.crossplane.io/v1alpha1" },
    ]);
  });

  test("as it is printed, the second one does not close its quote, and is refused at that quote", () => {
    const { code, issues } = failure(() => parseResourceList(example("resource-list-answer-as-printed")));
    expect({ code, issues }).toMatchObject({ code: "Syntax", issues: [{ line: 45, column: 12 }] });
  });
});

describe("an output with a fatal result", () => {
  const results = [{ severity: "error", message: "no such region" }];
  const other = { ...XR_ITEM, metadata: { ...XR_ITEM.metadata, name: "other" } };
  test.each<[string, JsonValue]>([
    ["no items", []],
    ["no XR", [item({ [TYPE]: "ComposedResource", [NAME]: "a" })]],
    ["an item without annotations", [XR_ITEM, item({})]],
    ["an item that is not an object", [XR_ITEM, 1]],
    ["items that are not a list", "x"],
    ["another XR", [other]],
  ])("says why the function failed, even if its items are invalid: %s", (_name, items) => {
    const text = listOf([], { items, results: [...results, 1] });
    const list = parseResourceList(text, { isOutput: true });
    expect(fromResourceList(list, io({})).results).toEqual([{ severity: "Fatal", message: "no such region" }]);
  });

  test.each<[string, Record<string, JsonValue>]>([
    ["no fatal result", { items: [], results: [{ severity: "warning", message: "m" }] }],
    ["a fatal result without a message", { items: [], results: [{ severity: "error" }] }],
    ["another kind", { kind: "List", items: [], results }],
    ["another apiVersion", { apiVersion: "v1", items: [], results }],
  ])("is refused with %s", (_name, fields) => {
    expect(failure(() => parseResourceList(listOf([], fields), { isOutput: true })).code).toBe("Invalid");
  });

  test("as an input is refused", () => {
    expect(failure(() => parseResourceList(listOf([], { results }))).code).toBe("Invalid");
  });
});

describe("what is refused", () => {
  const composed = (name: string): JsonValue => item({ [TYPE]: "ComposedResource", [NAME]: name });

  test.each<[string, JsonValue[], string, RegExp]>([
    ["no composite", [composed("a")], "items", /has no CompositeResource/],
    ["no items", [], "items", /has no CompositeResource/],
    ["two composites", [XR_ITEM, XR_ITEM], "items[1]", /items\[0\]/],
    ["no type", [XR_ITEM, item({ [NAME]: "a" })], "items[1]", /type is missing; set it to ComposedResource/],
    ["an unknown type", [XR_ITEM, item({ [TYPE]: "Claim", [NAME]: "a" })], "items[1]", /"Claim"; set it/],
    ["no name", [XR_ITEM, item({ [TYPE]: "ComposedResource" })], "items[1]", /name is missing; give/],
    ["an empty name", [XR_ITEM, composed("")], "items[1]", /name is missing; give/],
    ["a name twice", [XR_ITEM, composed("a"), composed("a")], "items[2]", /"a", as that of items\[1\]/],
    ["an item that is not an object", [XR_ITEM, 1], "items[1]", /expected an object/],
    [
      "an annotation that is a number",
      [XR_ITEM, item({ [TYPE]: 1 as never })],
      "items[1].metadata.annotations[fn.apiextensions.crossplane.io/type]",
      /quote it/,
    ],
  ])("%s", (_name, items, path, message) => {
    const { code, issues } = failure(() => parseResourceList(listOf(items)));
    expect(code).toBe("Invalid");
    expect(issues).toContainEqual({
      path,
      message: expect.stringMatching(message),
      line: 1,
      column: expect.any(Number),
    });
  });

  test.each<[string, string, string]>([
    ["apiVersion", "e.org/v2", "apiVersion"],
    ["kind", "Y", "kind"],
    ["metadata", "name", "metadata.name"],
    ["metadata", "namespace", "metadata.namespace"],
    ["metadata", "uid", "metadata.uid"],
  ])("another %s (%s) of the XR", (field, changed, path) => {
    const list: ResourceList = toResourceList(io({}));
    const [xr] = list.items;
    if (field === "metadata") Object.assign(xr?.metadata ?? {}, { [changed]: "other" });
    else Object.assign(xr ?? {}, { [field]: changed });
    const { code, issues } = failure(() => fromResourceList(list, io({})));
    expect(code).toBe("Invalid");
    expect(issues).toEqual([{ path: `items[0].${path}`, message: expect.stringContaining("identity") }]);
  });

  const IDENTITY = [["apiVersion"], ["kind"], ["metadata", "name"], ["metadata", "namespace"], ["metadata", "uid"]];
  test.each(
    IDENTITY.flatMap((path) => [
      [path, undefined],
      [path, null],
      [path, ""],
    ]),
  )("an item without %s (%s) keeps it", (path, value) => {
    const metadata = { name: "x", namespace: "ns", uid: "1" };
    const resource = { ...XR, metadata };
    const b = { apiVersion: "v1", kind: "B", metadata: { name: "b", namespace: "ns", uid: "2" } };
    const given = io({ observed: { composite: { resource }, resources: [{ name: "b", resource: b }] } });
    const list = toResourceList(given);
    for (const one of list.items) {
      const [field = "", inner] = path as string[];
      if (inner === undefined) Object.assign(one, { [field]: value });
      else Object.assign(one.metadata ?? {}, { [inner]: value });
    }
    const { desired } = fromResourceList(parseResourceList(printJson(list)), given);
    expect(desired?.composite?.resource).toEqual({ ...resource, metadata: { name: "x", namespace: "ns" } });
    expect(desired?.resources).toEqual([
      { name: "b", resource: { apiVersion: "v1", kind: "B", metadata: { name: "b", namespace: "ns" } } },
    ]);
  });

  test.each([
    ["another version", '{"apiVersion":"config.kubernetes.io/v9","kind":"ResourceList","items":[]}', "Invalid"],
    ["another kind", '{"apiVersion":"config.kubernetes.io/v1","kind":"FunctionIO","items":[]}', "Invalid"],
    ["a text", "hello", "Invalid"],
    ["nothing", "", "Empty"],
    ["two documents", "a: 1\n---\nb: 2\n", "MultipleDocuments"],
  ])("%s", (_name, text, code) => {
    expect(failure(() => parseResourceList(text)).code).toBe(code);
  });

  test("no XR to write", () => {
    expect(failure(() => toResourceList(io({ observed: {} }))).code).toBe("Invalid");
  });

  test("more items, results or values than a function may return", () => {
    const read = (text: string) => () => parseResourceList(text, { limits: outputLimits(16 << 20) });
    expect(failure(read(listOf(Array.from({ length: 10_001 }, () => ({})))))).toMatchObject({ code: "TooManyValues" });
    const results = Array.from({ length: 10_001 }, () => ({ message: "m" }));
    expect(failure(read(listOf([XR_ITEM], { results })))).toMatchObject({ code: "TooManyValues" });
    const large = item({}, { list: Array.from({ length: 200_000 }, () => 1) });
    expect(failure(read(listOf([XR_ITEM, large])))).toMatchObject({ code: "TooManyValues" });
  });
});
