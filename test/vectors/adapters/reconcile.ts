import { documentOf, Float64 } from "@xfn/composition";
import { type Definition, parseDefinition } from "@xfn/composition/definition";
import { type CompositeOptions, compositeReconciler } from "@xfn/controller";
import { isObject, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/json";
import { ApiError, type Cache, type LiveObject } from "@xfn/kubernetes";
import type { FunctionRunner } from "@xfn/pipeline";
import { memoryClient } from "../../harness/memory-client.ts";
import type { Adapter } from "../adapter.ts";
import { child, list } from "../rule.ts";
import type { VectorCase } from "../vector-file.ts";

// Full reconciles of one XR on a small API server. Compares the essential results by the README of the vectors: the
// inputs of the functions, the final objects, Synced and Ready, events, and connection details. Does not compare the
// order of writes, conflicts and retries, the time of the next reconcile, and messages of errors.

const NOW = Date.parse("2023-09-01T00:00:00Z");

/** The result of one pass. */
export interface Pass {
  functionInputs: unknown[];
  /** `Synced` and `Ready`. */
  synced: unknown;
  ready: unknown;
  results: string[];
  published: unknown;
}

/** The result of a case. */
export interface Reconciled {
  passes: Pass[];
  /** Without Secrets. */
  objects: JsonObject[];
}

export const reconciles: Adapter = {
  async run(vector) {
    const server = child(vector, "server");
    const initial = list(plain(server["objects"]) as JsonValue) as LiveObject[];
    const xr = initial[0];
    if (xr === undefined) throw new Error(`${vector.name}: has no XR`);
    const secrets = secretsOf(server, xr);
    const client = memoryClient([...initial, ...secrets]);
    const fail = child(server, "fail");
    client.beforeWrite = ({ verb, object }) => {
      const exists = [...client.objects.values()].some((one) => titleOf(one) === object);
      const asked = verb !== "apply" ? verb : exists ? "patch" : "create";
      const found = Object.keys(fail).find((key) => isAbout(key, asked, object));
      if (found !== undefined) throw new ApiError("Forbidden", String(fail[found]), { status: 403 });
    };
    const passes: Pass[] = [];
    const xrKey = `${xr.apiVersion.split("/")[0]}/${xr.kind}//${xr.metadata.name}`;
    const remembered = compositionOf(vector, xr);
    const recordedPasses = comparable(vector);
    let objects: JsonObject[] = [];
    // One more pass, of which only the references are compared: one is removed after its object is gone.
    for (const recordedPass of [...recordedPasses, recordedPasses.at(-1) ?? {}]) {
      objects = [...client.objects.values()].filter(({ kind }) => kind !== "Secret");
      const inputs: JsonObject[] = [];
      const results: string[] = [];
      const context: CompositeOptions = {
        client,
        informers: { acquire: unneeded, peek: (kind) => remembered.get(kind.kind), stop: async () => {} },
        events: {
          record: (_, { type, message }) => void results.push(`${type} ${message}`),
          flush: async () => {},
        },
        log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
        runner: stub(list(recordedPass["functionOutputs"]), inputs),
        namespace: "crossplane-system",
        pullSecretNamespaces: [],
        pollIntervalMs: 60_000,
        now: () => NOW,
      };
      const reconcile = compositeReconciler(context, definitionOf(xr));
      await reconcile(xr.metadata.name, new AbortController().signal).catch(() => undefined);
      const now = client.objects.get(xrKey);
      passes.push({
        functionInputs: inputs,
        ...conditionsOf(child(now, "status")),
        results,
        published: publishedIn(client.writes.splice(0)),
      });
      // The reference's publisher is a stub, so the next pass does not read published details.
      for (const [key, { kind }] of client.objects) if (kind === "Secret") client.objects.delete(key);
      for (const secret of memoryClient(secrets).objects) client.objects.set(...secret);
    }
    const { resourceRefs = null } = child(client.objects.get(xrKey), "spec");
    objects = objects.map((one) =>
      one["kind"] === xr.kind ? { ...one, spec: { ...child(one, "spec"), resourceRefs } } : one,
    );
    return { passes: passes.slice(0, -1), objects };
  },
  expected: (vector) => {
    const output = plain(vector["output"]) as JsonObject;
    const passes = comparable(vector).map((pass): Pass => {
      const events = list(pass["events"]);
      const status = list(pass["writes"]).findLast(({ verb }) => verb === "updateStatus");
      return {
        functionInputs: list(pass["functionInputs"]),
        ...conditionsOf(child(status, "status")),
        results: events.map(({ type, message }) => `${String(type)} ${String(message)}`),
        published: pass["connectionDetails"],
      };
    });
    // A conflict keeps the reference from storing the status, which it stores in its next try.
    const last = list(comparable(vector).at(-1)?.["writes"]).findLast(({ verb }) => verb === "updateStatus");
    const objects = list(output["finalObjects"]).map((object) =>
      last?.["conflict"] === true && titleOf(object) === last["object"]
        ? { ...object, status: last["status"] ?? {} }
        : object,
    );
    return { output: { passes, objects } satisfies Reconciled };
  },
  normalize: (output) => {
    const { passes, objects } = output as Reconciled;
    return {
      passes: passes.map((pass) => ({
        ...pass,
        // The reference does not report readiness after a failed reconcile.
        ready: pass.synced === "True" ? pass.ready : "",
        published: JSON.parse(renamed(show(pass.published ?? {}))),
        functionInputs: pass.functionInputs.map((input) => normalInput(input as JsonObject)),
        results: pass.results.map(normalResult).filter((one) => one !== undefined),
      })),
      objects: objects.map(normalObject).toSorted((a, b) => (show(a) < show(b) ? -1 : 1)),
    };
  },
};

/**
 * The passes in which the reference ran the functions. If the reference cannot determine the existing objects, it skips
 * the functions or ends before them, and there is no recorded answer for our functions.
 */
function comparable(vector: VectorCase): JsonObject[] {
  const functions = list(child(vector, "composition")["functions"]);
  return list(child(vector, "output")["passes"]).filter(
    (pass) =>
      functions.length === 0 ||
      list(pass["functionOutputs"]).length > 0 ||
      list(pass["events"]).some(({ message }) => String(message).startsWith("refusing to use invalid Composition")),
  );
}

function unneeded(): never {
  throw new TypeError("no informer is needed here");
}

/** Converts numbers to those of documents. */
function plain(value: unknown): unknown {
  if (value instanceof Float64) return Number(value);
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, plain(field)]));
}

function definitionOf({ apiVersion, kind }: LiveObject): Definition {
  const [group = "", version = ""] = apiVersion.split("/");
  const plural = `${kind.toLowerCase()}s`;
  return parseDefinition(
    documentOf({
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "CompositeResourceDefinition",
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        names: { kind, plural },
        versions: [
          { name: version, served: true, referenceable: true, schema: { openAPIV3Schema: { type: "object" } } },
        ],
      },
    }),
  );
}

/** The Composition and its revision, as in the caches. */
function compositionOf(vector: VectorCase, { apiVersion, kind, spec }: LiveObject): Map<string, Cache> {
  const { name } = child(isObject(spec) ? spec : {}, "compositionRef");
  const object = (type: string, more: JsonObject, rest: JsonObject): LiveObject => ({
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: type,
    metadata: { name: String(name), uid: "composition", resourceVersion: "1", ...more },
    spec: { compositeTypeRef: { apiVersion, kind }, ...(plain(vector["composition"]) as JsonObject), ...rest },
  });
  const owner = {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    name: String(name),
    uid: "composition",
    controller: true,
  };
  const labels = { "crossplane.io/composition-name": String(name) };
  const revision = object("CompositionRevision", { labels, ownerReferences: [owner] }, { revision: 1 });
  const cacheOf = (one: LiveObject): Cache => ({ get: () => one, list: () => [one], byIndex: () => [] });
  return new Map([
    ["Composition", cacheOf(object("Composition", {}, {}))],
    ["CompositionRevision", cacheOf(revision)],
  ]);
}

/** Published Secrets. The XR controls its own. */
function secretsOf(server: JsonObject, xr: LiveObject): LiveObject[] {
  return Object.entries(child(server, "secrets")).map(([key, data]) => {
    const [namespace = "", name = ""] = key.split("/");
    const own = child(child(xr, "spec"), "writeConnectionSecretToRef")["name"] === name;
    const { apiVersion, kind, metadata } = xr;
    const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true };
    const encoded = Object.entries(isObject(data) ? data : {}).map(([key, value]) => [
      key,
      Buffer.from(String(value)).toString("base64"),
    ]);
    return {
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        name,
        namespace,
        uid: `secret-${name}`,
        resourceVersion: "1",
        ...(own && { ownerReferences: [owner] }),
      },
      type: "connection.crossplane.io/v1alpha1",
      data: Object.fromEntries(encoded),
    };
  });
}

/** `create Bucket/shop-00000` also matches the resource whose generated name differs here. */
function isAbout(key: string, verb: string, object: string): boolean {
  const [wantedVerb, wanted = ""] = key.split(" ");
  if (wantedVerb !== verb) return false;
  return wanted === object || (/-\d{5}$/.test(wanted) && wanted.split("/")[0] === object.split("/")[0]);
}

function stub(outputs: readonly JsonObject[], inputs: JsonObject[]): FunctionRunner {
  return {
    run: (_, bytes) => {
      const output = outputs[inputs.length];
      const input = JSON.parse(Buffer.from(bytes).toString("utf8")) as JsonObject;
      inputs.push(input);
      if (output === undefined) return Promise.reject(new Error("the reference did not run this function"));
      const { error } = output;
      if (error !== undefined) return Promise.reject(new Error(String(error)));
      // The `observed` of the function's answer is its input.
      const { observed = null } = input;
      const { apiVersion = null, kind = null } = input;
      const io = { ...(plain(output) as JsonObject), apiVersion, kind, observed };
      return Promise.resolve(Buffer.from(JSON.stringify(io)));
    },
  };
}

function conditionsOf(status: JsonObject): { synced: unknown; ready: unknown } {
  const of = (type: string): unknown =>
    list(status["conditions"]).find((one) => one["type"] === type)?.["status"] ?? "none";
  return { synced: of("Synced"), ready: of("Ready") };
}

function publishedIn(writes: ReturnType<typeof memoryClient>["writes"]): unknown {
  const write = writes.findLast(({ object, verb }) => verb === "apply" && object.startsWith("Secret/"));
  if (write === undefined) return undefined;
  const data = Object.entries(child(write.body, "data"));
  return Object.fromEntries(data.map(([key, value]) => [key, Buffer.from(String(value), "base64").toString()]));
}

function normalInput(input: JsonObject): unknown {
  const observed = child(input, "observed");
  const desired = child(input, "desired");
  return {
    config: input["config"] ?? null,
    results: list(input["results"]),
    observed: {
      composite: normalComposite(observed),
      resources: byName(observed["resources"]).map((one) => ({
        name: one["name"],
        connectionDetails: list(one["connectionDetails"]),
        resource: normalObject(child(one, "resource")),
      })),
    },
    desired: {
      composite: normalComposite(desired),
      resources: byName(desired["resources"]).map((one) => ({
        ...one,
        resource: isObject(one["resource"]) ? normalObject(one["resource"]) : one["resource"],
      })),
    },
  };
}

/** The vectors record entries by name, because the reference keeps them in a Go map. Ours have the templates' order. */
function byName(entries: JsonValue | undefined): JsonObject[] {
  return list(entries).toSorted((a, b) => (String(a["name"]) < String(b["name"]) ? -1 : 1));
}

function normalComposite(state: JsonObject): unknown {
  const composite = child(state, "composite");
  return {
    resource: normalObject(child(composite, "resource")),
    connectionDetails: list(composite["connectionDetails"]).toSorted((a, b) => (show(a) < show(b) ? -1 : 1)),
  };
}

// Events of only one side: overall success or failure, and warnings of our pipeline.
const OWN =
  /Successfully (selected composition|composed resources)|is not yet ready$|^Warning (cannot compose resources|refusing to use invalid Composition)|" dropped the desired resource "|its connection detail "[^"]*" replaces| lacks the annotation | has lost its controller reference| is for the entry |existed without a controller$|^Warning adopted by | is not controlled by this resource; it is not deleted$/;

function normalResult(result: string): string | undefined {
  const text = result.replace(/^(\w+) Pipeline step "[^"]*": /, "$1 ");
  if (OWN.test(text)) return undefined;
  return /^Warning composed resource "[^"]*":/.exec(text)?.[0] ?? text;
}

/** Drops the XR's machinery fields, and fields that change with each write. */
function normalXr(xr: JsonObject): JsonObject {
  const { metadata, status, spec, ...rest } = xr;
  // The reference's selection is a stub.
  const { compositionRevisionRef: _revision, compositionUpdatePolicy: _policy, ...own } = isObject(spec) ? spec : {};
  const { labels, annotations, name } = isObject(metadata) ? metadata : {};
  const { conditions: _, connectionDetails: __, ...reported } = isObject(status) ? status : {};
  const references = list(own["resourceRefs"]).toSorted((a, b) => (show(a) < show(b) ? -1 : 1));
  return {
    ...rest,
    spec: { ...own, resourceRefs: references },
    metadata: { name: name ?? null, labels: labels ?? {}, annotations: annotations ?? {} },
    status: reported,
  };
}

function normalObject(object: JsonObject): JsonObject {
  const normal = withoutNulls(JSON.parse(renamed(show(object))) as JsonValue) as KubernetesObject;
  return normal.kind === "XApp" ? normalXr(normal) : withoutGenerated(normal);
}

/** The reference numbers unnamed resources. We derive the name from the XR's UID and the entry. */
function renamed(text: string): string {
  return text.replace(/("[^"]*-)(?:\d{5}|[0-9a-f]{12})"/g, '$1<generated>"');
}

/** The vectors' server stores the nulls of a new object. A real one drops them. */
function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(fields.map(([key, field]) => [key, withoutNulls(field)]));
}

function withoutGenerated({ metadata, ...rest }: JsonObject): JsonObject {
  const {
    managedFields: _,
    resourceVersion: __,
    uid: ___,
    creationTimestamp: ____,
    generateName: _____,
    ...kept
  } = isObject(metadata) ? metadata : {};
  return { ...rest, metadata: kept };
}

function titleOf({ kind, metadata }: JsonObject): string {
  const { namespace, name } = isObject(metadata) ? metadata : {};
  return [kind, ...(namespace === undefined ? [] : [namespace]), name].join("/");
}

/** JSON with sorted keys. */
function show(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => {
    if (typeof one === "bigint") return String(one);
    if (one instanceof Float64) return Number(one);
    if (!isObject(one)) return one;
    return Object.fromEntries(
      Object.keys(one)
        .toSorted()
        .map((key) => [key, one[key]]),
    );
  });
}
