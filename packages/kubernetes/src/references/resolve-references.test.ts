import type { JsonObject } from "@xfn/json";
import { expect, test } from "vitest";
import { thing } from "../../testing/scripted-client.ts";
import type { LiveObject } from "../client/client.ts";
import { type ReferenceField, resolveReferences } from "./index.ts";

const XR = "uid-of-the-xr";
const owned = (uid = XR): JsonObject => ({
  ownerReferences: [{ apiVersion: "v1", kind: "X", name: "x", uid, controller: true }],
});

/** A Network, which has an external name unless it says otherwise. */
const network = (name: string, metadata: JsonObject = owned(), external = `id-of-${name}`): LiveObject => {
  const made = thing(name, 1);
  Object.assign(made.metadata, { annotations: { "crossplane.io/external-name": external }, ...metadata });
  return made;
};
const subnet = (forProvider: JsonObject, metadata: JsonObject = owned()): LiveObject => {
  const made: LiveObject = { ...thing("subnet", 7), spec: { forProvider } };
  Object.assign(made.metadata, metadata);
  return made;
};

/** Resolves `spec.forProvider.network` among these networks. */
async function resolve(
  resource: LiveObject,
  networks: readonly LiveObject[],
  more: Partial<ReferenceField> = {},
): Promise<{ error: unknown; fields: unknown; writes: unknown[] }> {
  const kind = { group: "", version: "v1", kind: "Network", plural: "networks", namespaced: true };
  const cache = {
    get: (name: string) => networks.find(({ metadata }) => metadata.name === name),
    list: () => networks,
    byIndex: () => [],
  };
  const writes: JsonObject[] = [];
  let error: unknown;
  let last = resource;
  const client = {
    update: async (object: object) => {
      last = structuredClone(object) as LiveObject;
      writes.push((last["spec"] as JsonObject)["forProvider"] as JsonObject);
      return last;
    },
  };
  const before = structuredClone(resource);
  const path = ["spec", "forProvider", "network"] as const;
  await resolveReferences(client, resource, [{ path, target: { kind, cache }, ...more }]).catch((thrown: unknown) => {
    error = thrown;
  });
  // A cached object is shared.
  expect(resource).toEqual(before);
  return { error, fields: (last["spec"] as JsonObject)["forProvider"], writes };
}

const SAME = { networkSelector: { matchControllerRef: true } };

test("a selector writes the reference, then the value", async () => {
  const { writes, error } = await resolve(subnet(SAME), [network("other", owned("another")), network("ours")]);
  expect(error).toBeUndefined();
  expect(writes).toEqual([
    { ...SAME, networkRef: { name: "ours" } },
    { ...SAME, networkRef: { name: "ours" }, network: "id-of-ours" },
  ]);
});

test("the first of several by name is chosen, and stays chosen", async () => {
  const { fields } = await resolve(subnet(SAME), [network("b"), network("a")]);
  expect(fields).toMatchObject({ network: "id-of-a" });
  const chosen = { ...SAME, networkRef: { name: "b" } };
  expect((await resolve(subnet(chosen), [network("a"), network("b")])).fields).toMatchObject({ network: "id-of-b" });
});

test("all labels must match, with or without the controller", async () => {
  const labelled = (name: string, labels: JsonObject, uid?: string): LiveObject =>
    network(name, { ...owned(uid), labels });
  const networks = [
    labelled("a", { tier: "gold" }),
    labelled("b", { tier: "gold", zone: "1" }, "another"),
    labelled("c", { tier: "gold", zone: "1" }),
  ];
  const matchLabels = { tier: "gold", zone: "1" };
  const chosen = async (selector: JsonObject): Promise<unknown> =>
    (await resolve(subnet({ networkSelector: selector }), networks)).fields;
  expect(await chosen({ matchLabels })).toMatchObject({ networkRef: { name: "b" } });
  expect(await chosen({ matchLabels, matchControllerRef: true })).toMatchObject({ networkRef: { name: "c" } });
  expect(await chosen({ matchLabels, matchComposite: true })).toMatchObject({ networkRef: { name: "c" } });
});

test("a reference wins over the selector, and a value over both", async () => {
  const both = { ...SAME, networkRef: { name: "named" } };
  const networks = [network("a"), network("named", owned("another"))];
  expect((await resolve(subnet(both), networks)).fields).toMatchObject({ network: "id-of-named" });
  expect((await resolve(subnet({ ...both, network: "set" }), networks)).writes).toEqual([]);
});

test("without reference and selector nothing happens, and a resolved field needs no write", async () => {
  expect(await resolve(subnet({}), [network("a")])).toMatchObject({ error: undefined, writes: [] });
  const resolved = { ...SAME, networkRef: { name: "a" }, network: "id-of-a" };
  expect(await resolve(subnet(resolved), [])).toMatchObject({ error: undefined, writes: [] });
});

test("a value of another field is taken, and one in an item of a list is set", async () => {
  const { fields } = await resolve(subnet({ rules: [{ networkRef: { name: "a" } }] }), [network("a")], {
    path: ["spec", "forProvider", "rules", 0, "network"],
    value: ({ metadata }) => ({ uid: metadata.uid }),
  });
  expect(fields).toEqual({ rules: [{ networkRef: { name: "a" }, network: { uid: "uid-a" } }] });
});

test("a target without a value keeps its reference and is waited for", async () => {
  const { error, writes } = await resolve(subnet(SAME), [network("a", owned(), "")]);
  expect(writes).toEqual([{ ...SAME, networkRef: { name: "a" } }]);
  expect(error).toMatchObject({ code: "ReferenceNotResolved", retryable: true });
  expect(String(error)).toContain("spec.forProvider.networkRef: Network a has no value for the field yet");
});

const deleting = { ...owned(), deletionTimestamp: "2026-01-01T00:00:00Z" };
test.each<[what: string, fields: JsonObject, networks: LiveObject[], message: string]>([
  ["nothing matches", SAME, [], "no Network matches yet; create one with the same controller"],
  ["the only match is being deleted", SAME, [network("a", deleting)], "no Network matches yet"],
  ["the only match is the resource itself", SAME, [network("subnet")], "no Network matches yet"],
  ["the target does not exist", { networkRef: { name: "a" } }, [], "Network a does not exist yet"],
  ["the target is being deleted", { networkRef: { name: "a" } }, [network("a", deleting)], "is being deleted"],
])("is not resolved while %s", async (_, fields, networks, message) => {
  const { error, writes } = await resolve(subnet(fields), networks);
  expect(error).toMatchObject({ code: "ReferenceNotResolved", retryable: true });
  expect(String(error)).toContain(message);
  expect(writes).toEqual([]);
});

test.each<[what: string, resource: LiveObject, message: string]>([
  ["an empty selector", subnet({ networkSelector: {} }), "an empty selector matches everything"],
  ["a selector that is not an object", subnet({ networkSelector: "a" }), "expected an object"],
  ["a label that is not a string", subnet({ networkSelector: { matchLabels: { a: 1 } } }), "label a must be a string"],
  ["a flag that is text", subnet({ networkSelector: { matchControllerRef: "yes" } }), "must be true or false"],
  ["matchControllerRef without a controller", subnet(SAME, {}), "needs a controller"],
  ["a reference without a name", subnet({ networkRef: {} }), "name is missing"],
  ["a reference to itself", subnet({ networkRef: { name: "subnet" } }), "refers to itself"],
])("%s is invalid", async (_, resource, message) => {
  const { error, writes } = await resolve(resource, [network("subnet"), network("a")]);
  expect(error).toMatchObject({ code: "InvalidReference", retryable: false });
  expect(String(error)).toContain(message);
  expect(writes).toEqual([]);
});
