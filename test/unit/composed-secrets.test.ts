import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import {
  get,
  named,
  owner,
  referencesOf,
  secret,
  WIDGET,
  type World,
  widget,
  world,
  xr,
} from "../harness/composite-memory.ts";

// Authors of Compositions and XRs who try to read Secrets of others with the controller's permissions.

const VALUE = "YWRtaW4=";
const PLACE = { namespace: "team", name: "published" };

/** A Secret that no controller owns. */
const victim = (metadata: JsonObject = {}): LiveObject => {
  const { type: _, ...object } = secret("kube-system", "victim", []);
  return { ...object, type: "Opaque", metadata: { ...object.metadata, ...metadata } };
};
/** A template that has the victim's name, publishes its value and copies it to the XR. */
const constant = (value: string, toFieldPath: string): JsonObject => ({
  type: "CombineFromComposite",
  combine: { strategy: "string", variables: [{ fromFieldPath: "kind" }], string: { fmt: `${value}%.0s` } },
  toFieldPath,
});
const thief: JsonObject = {
  name: "a",
  base: { apiVersion: "v1", kind: "Secret" },
  patches: [constant("victim", "metadata.name"), constant("kube-system", "metadata.namespace")],
  connectionDetails: [{ name: "user", type: "FromFieldPath", fromFieldPath: "data.user" }],
};
const stealing: JsonObject = {
  ...thief,
  patches: [
    ...(thief["patches"] as JsonObject[]),
    { type: "ToCompositeFieldPath", fromFieldPath: "data.user", toFieldPath: "status.user" },
  ],
};
const published = ({ client }: World): unknown => get(client, "Secret", "published")?.["data"];
const status = ({ client }: World): string => JSON.stringify(get(client, "XDatabase", "xr")?.["status"]);
const asking = (spec: JsonObject = {}): LiveObject => xr({ writeConnectionSecretToRef: PLACE, ...spec });

test("a Secret is neither composed, adopted, read nor deleted without --allow-composed-secrets", async () => {
  const w = world([asking(), victim()]);
  const before = structuredClone(get(w.client, "Secret", "victim"));
  w.compose(stealing, named("b", "b"));
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "SecretsDisabled" }));
  await expect(w.reconcile()).rejects.toThrow("--allow-composed-secrets");
  expect(get(w.client, "Secret", "victim")).toEqual(before);
  expect(published(w)).toBeUndefined();
  expect(status(w)).not.toContain(VALUE);
  // The other entry was composed.
  expect(referencesOf(w.client)).toEqual(["b"]);
});

test("a service account token is not composed without --allow-composed-secrets", async () => {
  const w = world([asking()]);
  const annotations = { "kubernetes.io/service-account.name": "xfn-controller" };
  const base = {
    ...(thief["base"] as JsonObject),
    type: "kubernetes.io/service-account-token",
    metadata: { annotations },
  };
  w.compose({ name: "a", base, patches: [constant("crossplane-system", "metadata.namespace")] });
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "SecretsDisabled" }));
  expect(w.titles().filter((title) => title.includes("Secret"))).toEqual([]);
});

test("the content of a Secret that was composed before is not read without --allow-composed-secrets", async () => {
  const annotations = {
    "crossplane.io/composition-resource-name": "a",
    "kubectl.kubernetes.io/last-applied-configuration": VALUE,
  };
  const composed = victim({ annotations, ownerReferences: [owner()] });
  const w = world([
    asking({ resourceRefs: [{ apiVersion: "v1", kind: "Secret", namespace: "kube-system", name: "victim" }] }),
    composed,
  ]);
  const fromAnnotation = {
    type: "ToCompositeFieldPath",
    fromFieldPath: "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
    toFieldPath: "status.user",
  };
  w.compose({ ...stealing, patches: [...(stealing["patches"] as JsonObject[]), fromAnnotation] });
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "SecretsDisabled" }));
  expect(JSON.stringify(published(w) ?? {})).not.toContain(VALUE);
  expect(status(w)).not.toContain(VALUE);
  // The XR controls it, so it is deleted once it is not desired.
  w.compose();
  await w.reconcile();
  expect(get(w.client, "Secret", "victim")).toBeUndefined();
});

test("with --allow-composed-secrets a Secret is adopted and read, and events of both objects report it", async () => {
  const w = world([asking(), victim()], { allowComposedSecrets: true });
  w.compose(thief);
  await w.reconcile();
  await w.reconcile();
  // A field has the text that the Secret has there, which is base64.
  expect(published(w)).toEqual({ user: Buffer.from(VALUE).toString("base64") });
  expect(w.events.filter((message) => message.includes("adopted"))).toEqual([
    expect.stringMatching(/adopted Secret kube-system\/victim as composed resource "a"/),
    expect.stringMatching(/adopted by XDatabase xr/),
  ]);
});

test.each([
  ["is not read, and reported", {}, undefined],
  ["is read with --allow-composed-secrets", { allowComposedSecrets: true }, { user: VALUE }],
])("a Secret of another type without a controller, which a composed resource names, %s", async (_, how, expected) => {
  const composed = {
    ...widget("a", "a"),
    spec: { writeConnectionSecretToRef: { namespace: "kube-system", name: "victim" } },
  };
  const w = world([asking({ resourceRefs: [{ ...WIDGET, name: "a" }] }), composed, victim()], how);
  const connectionDetails = [{ name: "user", type: "FromConnectionSecretKey", fromConnectionSecretKey: "user" }];
  w.compose({ ...named("a", "a"), connectionDetails });
  await w.reconcile();
  expect(published(w)).toEqual(expected);
  expect(w.events.some((message) => message.includes("kube-system/victim"))).toBe(expected === undefined);
});

test("the adoption of an object that existed without a controller is reported once, on both objects", async () => {
  const existing = widget("a", "a", { ownerReferences: [], annotations: {} });
  const w = world([xr(), existing]);
  w.compose(named("a", "a"));
  await w.reconcile();
  await w.reconcile();
  expect(w.events.filter((message) => message.includes("adopted"))).toHaveLength(2);
  expect(get(w.client, "Widget", "a")?.metadata["ownerReferences"]).toMatchObject([{ name: "xr" }]);
});

test("the adoption of a connection secret without a controller is reported", async () => {
  const w = world([asking(), secret("team", "published", [])]);
  w.compose({ ...named("a", "a"), readinessChecks: [{ type: "None" }] });
  await w.reconcile();
  await w.reconcile();
  expect(w.events.filter((message) => message.includes("adopted Secret team/published"))).toHaveLength(1);
});

test("several templates may expose a connection key of a CompositeResourceDefinition, which an event reports", async () => {
  const details = [{ name: "user", type: "FromValue", value: "ada" }];
  const ready = { readinessChecks: [{ type: "None" }], connectionDetails: details };
  const w = world([asking()], {}, { connectionSecretKeys: ["user"] });
  w.compose({ ...named("a", "a"), ...ready }, { ...named("b", "b"), ...ready });
  await w.reconcile();
  await w.reconcile();
  expect(published(w)).toEqual({ user: Buffer.from("ada").toString("base64") });
  expect(status(w)).toContain('"reason":"Available"');
  expect(w.events).toContainEqual(expect.stringContaining("is exposed by the template"));
});
