import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "@xfn/json";
import { isApiError, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import { apiVersionOf, COMPOSITIONS, CONFIG_MAPS, GROUP, NAMESPACE, NOPS, SECRETS, THINGS, XTHINGS } from "../kinds.ts";
import { entryOf, objectsAt, textAt } from "../objects.ts";
import type { Actor, Step } from "../scenario.ts";

/** An XR that claims of the scenarios' namespace may take. */
export function offered<T extends { metadata: JsonObject }>(xr: T): T {
  const annotations = { "apiextensions.crossplane.io/claimable-by": NAMESPACE };
  return { ...xr, metadata: { ...xr.metadata, annotations } };
}

/** An object of a kind, by the last part of its name, which follows the run's id. */
export function named(
  actor: Actor,
  kind: ResourceKind,
  name: string,
): { [key: string]: JsonValue } & { metadata: JsonObject } {
  const metadata: JsonObject = { name: `${actor.id}-${name}` };
  if (kind.namespaced) metadata["namespace"] = NAMESPACE;
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata };
}

export function xthing(actor: Actor, spec: JsonObject = {}, composition = "c"): JsonObject {
  const compositionRef = { name: `${actor.id}-${composition}` };
  return { ...named(actor, XTHINGS, "x"), spec: { namespace: NAMESPACE, compositionRef, ...spec } };
}

export function thing(actor: Actor, spec: JsonObject = {}): JsonObject {
  const compositionRef = { name: `${actor.id}-c` };
  return { ...named(actor, THINGS, "claim"), spec: { namespace: NAMESPACE, compositionRef, ...spec } };
}

/** A Composition of templates, of functions by name, or of both. */
export function composition(
  actor: Actor,
  parts: { resources?: JsonObject[]; functions?: readonly string[]; labels?: JsonObject; spec?: JsonObject },
  name = "c",
): JsonObject {
  const object = named(actor, COMPOSITIONS, name);
  if (parts.labels !== undefined) object.metadata["labels"] = parts.labels;
  return {
    ...object,
    spec: {
      compositeTypeRef: { apiVersion: `${GROUP}/v1`, kind: "XThing" },
      ...(parts.resources === undefined ? {} : { resources: parts.resources }),
      ...(parts.functions === undefined
        ? {}
        : {
            functions: parts.functions.map((each) => ({
              name: each,
              type: "Container",
              container: { image: `sweep/${each}` },
            })),
          }),
      writeConnectionSecretsToNamespace: NAMESPACE,
      ...parts.spec,
    },
  };
}

const READY = [{ time: "0s", conditionType: "Ready", conditionStatus: "True" }];

/**
 * A template of a NopResource that is ready at once, has the XR's `spec.size`, and publishes a user name and a
 * password.
 */
export function nop(name: string, fields: JsonObject = {}): JsonObject {
  const details = [
    { name: "username", value: "ada" },
    { name: "password", value: `secret of ${name}` },
  ];
  return {
    name,
    base: {
      apiVersion: apiVersionOf(NOPS),
      kind: NOPS.kind,
      spec: {
        forProvider: { conditionAfter: READY, connectionDetails: details, fields: { kept: "yes", ...fields } },
        writeConnectionSecretToRef: { namespace: NAMESPACE },
      },
    },
    patches: [
      { type: "FromCompositeFieldPath", fromFieldPath: "spec.size", toFieldPath: "spec.forProvider.fields.size" },
      {
        type: "FromCompositeFieldPath",
        fromFieldPath: "metadata.name",
        toFieldPath: "spec.writeConnectionSecretToRef.name",
        transforms: [{ type: "string", string: { type: "Format", fmt: `%s-${name}-details` } }],
      },
    ],
    connectionDetails: [
      { name: "username", fromConnectionSecretKey: "username" },
      { name: "password", fromConnectionSecretKey: "password" },
    ],
  };
}

/** A template of a ConfigMap that is always ready. */
export function configMap(name: string, data: JsonObject = {}, more: JsonObject = {}): JsonObject {
  return {
    name,
    base: { apiVersion: "v1", kind: "ConfigMap", data: { ...data } },
    patches: [
      // Only patches can set names, templates cannot.
      { type: "FromCompositeFieldPath", fromFieldPath: "spec.namespace", toFieldPath: "metadata.namespace" },
      { type: "FromCompositeFieldPath", fromFieldPath: "spec.size", toFieldPath: "data.size" },
    ],
    readinessChecks: [{ type: "None" }],
    ...more,
  };
}

/** The run's objects of a kind. */
export async function all(actor: Actor, kind: ResourceKind): Promise<readonly LiveObject[]> {
  const { items } = await actor.client.list(kind);
  return items.filter(({ metadata }) => metadata.name.includes(actor.id));
}

export async function get(actor: Actor, kind: ResourceKind, name: string): Promise<LiveObject | undefined> {
  try {
    const { metadata } = named(actor, kind, name);
    return await actor.client.get({
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      name: String(textAt(metadata, "name")),
      namespace: textAt(metadata, "namespace"),
    });
  } catch (error) {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** Deletes like `kubectl delete --wait=false`. */
export async function remove(actor: Actor, object: LiveObject | undefined): Promise<void> {
  if (object === undefined) throw new Error("there is nothing to delete");
  const { apiVersion, kind, metadata } = object;
  await actor.client.delete({ apiVersion, kind, name: metadata.name, namespace: metadata.namespace });
}

export async function patch(actor: Actor, object: LiveObject | undefined, body: JsonObject): Promise<void> {
  if (object === undefined) throw new Error("there is nothing to patch");
  const { apiVersion, kind, metadata } = object;
  await actor.client.patch({ apiVersion, kind, name: metadata.name, namespace: metadata.namespace }, "merge", body, {
    fieldManager: "person",
  });
}

/** The composed objects of a kind, by entry. */
export async function composed(actor: Actor, kind: ResourceKind): Promise<Map<string, LiveObject>> {
  const objects = await all(actor, kind);
  return new Map(
    objects.flatMap((object) => {
      const entry = entryOf(object);
      return entry === undefined ? [] : [[entry, object] as const];
    }),
  );
}

/** Checks the composed entries of kinds. */
export async function expectEntries(actor: Actor, kind: ResourceKind, ...entries: readonly string[]): Promise<void> {
  assert.deepEqual([...(await composed(actor, kind)).keys()].toSorted(), entries.toSorted());
}

export function expectCondition(object: LiveObject | undefined, type: string, status: string, reason?: string): void {
  const found = objectsAt(object, "status", "conditions").find((one) => one["type"] === type);
  assert.equal(
    found?.["status"],
    status,
    `${type} of ${object?.kind} ${object?.metadata.name}: ${JSON.stringify(found)}`,
  );
  if (reason !== undefined) assert.equal(found?.["reason"], reason);
}

/** The XR that `xthing` returns. */
export async function theX(actor: Actor): Promise<LiveObject | undefined> {
  return await get(actor, XTHINGS, "x");
}

/** Deletes the XR, of which nothing may remain. */
export const deleteX: Step = {
  name: "delete the XR",
  act: async (actor) => remove(actor, await theX(actor)),
  expect: async (actor) => {
    for (const kind of [XTHINGS, NOPS, CONFIG_MAPS, SECRETS])
      assert.deepEqual(
        (await all(actor, kind)).map(({ metadata }) => metadata.name),
        [],
        `${kind.kind}s are left`,
      );
  },
};

/** Applies a Composition and an XR that uses it. */
export function create(parts: Parameters<typeof composition>[1], spec: JsonObject, expect: Step["expect"]): Step {
  return {
    name: "create the XR",
    act: (actor) => actor.apply(composition(actor, parts), xthing(actor, spec)),
    expect: async (actor) => {
      expectCondition(await theX(actor), "Synced", "True");
      await expect(actor);
    },
  };
}

/** Patches the XR. */
export function change(name: string, body: JsonObject, expect: Step["expect"]): Step {
  return { name, act: async (actor) => patch(actor, await theX(actor), body), expect };
}
