import { documentOf, parseComposition } from "@xfn/composition";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { compositeIntent, statusIntent } from "./composite-intent.ts";

const composition = (spec: JsonObject = {}): ReturnType<typeof parseComposition> =>
  parseComposition(
    documentOf({
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "Composition",
      metadata: { name: "c" },
      spec: { compositeTypeRef: { apiVersion: "example.org/v1", kind: "XThing" }, resources: [], ...spec },
    }),
  );

function xr(fields: JsonObject, owned: JsonObject = {}, subresource = ""): LiveObject {
  const { metadata, ...rest } = fields;
  return {
    apiVersion: "example.org/v1",
    kind: "XThing",
    ...rest,
    metadata: {
      name: "xr",
      uid: "uid",
      resourceVersion: "1",
      managedFields: [
        {
          manager: subresource === "" ? FIELD_MANAGERS.xr : FIELD_MANAGERS.composite,
          operation: "Apply",
          apiVersion: "example.org/v1",
          fieldsV1: owned,
          ...(subresource !== "" && { subresource }),
        },
      ],
      ...(metadata as JsonObject | undefined),
    },
  };
}

const LEGACY = { isLegacy: true };
const MODERN = { isLegacy: false };

const intent = (of: LiveObject, desired?: KubernetesObject, changes: JsonObject = {}, spec: JsonObject = {}) =>
  compositeIntent({ xr: of, layout: LEGACY, composition: composition(spec), desired, changes, references: [] });

test("a new XR gets the finalizer, the label of its tree and the selected revision", () => {
  expect(intent(xr({ spec: { size: 1 } }), undefined, { compositionRef: { name: "c" } })).toEqual({
    apiVersion: "example.org/v1",
    kind: "XThing",
    metadata: {
      name: "xr",
      labels: { "crossplane.io/composite": "xr" },
      finalizers: ["composite.apiextensions.crossplane.io"],
    },
    spec: { compositionRef: { name: "c" } },
  });
});

test("an XR within a tree keeps the label of its root", () => {
  const part = xr({ metadata: { labels: { "crossplane.io/composite": "root" } } });
  expect(intent(part).metadata?.labels).toBeUndefined();
});

test("the controller owns the fields that a function changes, not those that it returns unchanged", () => {
  const observed = { spec: { size: 1, nested: { a: 1, b: 2 }, list: [1] }, metadata: { labels: { team: "x" } } };
  const desired = { ...xr(observed), spec: { size: 1, nested: { a: 1, b: 3 }, list: [1] } };
  const { spec, metadata } = intent(xr(observed), desired);
  expect(spec).toEqual({ nested: { b: 3 } });
  expect(metadata?.labels).toEqual({ "crossplane.io/composite": "xr" });
});

test("a field stays while a function desires it, and is removed after that", () => {
  const owned = { "f:spec": { "f:region": {}, "f:zone": {} } };
  const { spec } = intent(xr({ spec: { region: "eu", zone: "a" } }, owned), { spec: { region: "eu" } });
  expect(spec).toEqual({ region: "eu" });
});

test("without a desired XR, the fields of the last reconcile stay", () => {
  const owned = {
    "f:metadata": { "f:labels": { "f:team": {}, "f:crossplane.io/composite": {} } },
    "f:spec": { "f:region": {}, "f:resourceRefs": {} },
  };
  const labels = { team: "x", "crossplane.io/composite": "xr", other: "o" };
  const { spec, metadata } = intent(
    xr({ metadata: { labels }, spec: { region: "eu", size: 1, resourceRefs: [{ name: "old" }] } }, owned),
  );
  expect(spec).toEqual({ region: "eu", resourceRefs: [] });
  expect(metadata?.labels).toEqual({ team: "x", "crossplane.io/composite": "xr" });
});

test("a function cannot set the claim, the references, the owners or the finalizers of the XR", () => {
  const desired = {
    metadata: {
      name: "xr",
      finalizers: ["mine"],
      ownerReferences: [{ uid: "o" }],
      labels: { "crossplane.io/claim-name": "stolen", ok: "1" },
      deletionTimestamp: "now",
    },
    spec: { resourceRefs: [{ name: "forged" }], claimRef: { name: "stolen" }, ok: 1 },
  };
  const { spec, metadata } = intent(xr({}), desired);
  expect(spec).toEqual({ ok: 1 });
  expect(metadata).toEqual({
    name: "xr",
    labels: { ok: "1", "crossplane.io/composite": "xr" },
    finalizers: ["composite.apiextensions.crossplane.io"],
  });
});

test("the controller owns the selected revision until another writer sets it", () => {
  const owned = { "f:spec": { "f:compositionRef": { "f:name": {} }, "f:compositionUpdatePolicy": {} } };
  const spec = { compositionRef: { name: "c" }, compositionUpdatePolicy: "Automatic" };
  expect(intent(xr({ spec }, owned), { spec: {} })["spec"]).toEqual(spec);
  expect(intent(xr({ spec }), { spec: {} })["spec"]).toBeUndefined();
});

test("an XR without a connection secret gets one in the Composition's namespace for them", () => {
  const namespaced = { writeConnectionSecretsToNamespace: "secrets" };
  const place = { name: "uid", namespace: "secrets" };
  expect(intent(xr({}), undefined, {}, namespaced)["spec"]).toEqual({ writeConnectionSecretToRef: place });
  const owned = { "f:spec": { "f:writeConnectionSecretToRef": { "f:name": {}, "f:namespace": {} } } };
  const given = xr({ spec: { writeConnectionSecretToRef: place } }, owned);
  expect(intent(given, undefined, {}, namespaced)["spec"]).toEqual({ writeConnectionSecretToRef: place });
  const users = xr({ spec: { writeConnectionSecretToRef: { name: "n", namespace: "ns" } } });
  expect(intent(users, undefined, {}, namespaced)["spec"]).toBeUndefined();
});

test("a function sets the status, except conditions and the time of publishing", () => {
  const desired = { status: { endpoint: "e", conditions: [], connectionDetails: { lastPublishedTime: "never" } } };
  expect(statusIntent(xr({}), desired, LEGACY)).toEqual({ endpoint: "e" });
  const owned = { "f:status": { "f:endpoint": {}, "f:conditions": {} } };
  const has = xr({ status: { endpoint: "e", conditions: [], users: "u" } }, owned, "status");
  expect(statusIntent(has, undefined, LEGACY)).toEqual({ endpoint: "e" });
  expect(statusIntent(has, { status: {} }, LEGACY)).toEqual({});
});

test("in the layout of Crossplane 2, all bookkeeping is in spec.crossplane, which functions cannot set", () => {
  const of = xr(
    { metadata: { namespace: "team" }, spec: { size: 1, claimRef: "the author's", crossplane: { resourceRefs: [] } } },
    { "f:spec": { "f:crossplane": { "f:resourceRefs": {} } } },
  );
  const desired = { spec: { size: 2, claimRef: "a function's", crossplane: { compositionRef: { name: "stolen" } } } };
  const references = [{ apiVersion: "v1", kind: "ConfigMap", name: "a", namespace: "team" }];
  const changes = { compositionRef: { name: "c" } };
  const spec = { writeConnectionSecretsToNamespace: "ns" };
  const wanted = compositeIntent({
    xr: of,
    layout: MODERN,
    composition: composition(spec),
    desired,
    changes,
    references,
  });
  expect(wanted["spec"]).toEqual({
    size: 2,
    claimRef: "a function's",
    crossplane: {
      compositionRef: { name: "c" },
      resourceRefs: [{ apiVersion: "v1", kind: "ConfigMap", name: "a" }],
    },
  });
  const status = { connectionDetails: "the author's", conditions: [] };
  expect(statusIntent(xr({}), { status }, MODERN)).toEqual({ connectionDetails: "the author's" });
});
