import { checkComposition, documentOf } from "@xfn/composition";
import { parseDefinition } from "@xfn/composition/definition";
import { ApiError, type Client, type LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import type { Context } from "../objects/context.ts";
import { shadowRun } from "./shadow-run.ts";

const API_VERSION = "apiextensions.crossplane.io/v1";
const DEFINITION = parseDefinition(
  documentOf({
    apiVersion: API_VERSION,
    kind: "CompositeResourceDefinition",
    metadata: { name: "xthings.example.org" },
    spec: {
      group: "example.org",
      names: { kind: "XThing", plural: "xthings" },
      versions: [{ name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  }),
);
const { composition: COMPOSITION } = checkComposition(
  documentOf({
    apiVersion: API_VERSION,
    kind: "Composition",
    metadata: { name: "c" },
    spec: {
      compositeTypeRef: { apiVersion: "example.org/v1", kind: "XThing" },
      serviceAccountRef: { namespace: "team", name: "composer" },
      resources: [{ name: "a", base: { apiVersion: "things.example.org/v1", kind: "Widget" } }],
    },
  }),
);
const object = (apiVersion: string, kind: string, name: string): LiveObject => ({
  apiVersion,
  kind,
  metadata: { name, uid: name, resourceVersion: "1" },
  spec: {},
});
const signal = new AbortController().signal;

/** Runs the Composition in shadow. @param mayImpersonate what the server says of the account */
async function shadow(mayImpersonate: boolean): Promise<string[]> {
  const requests: string[] = [];
  const client: Partial<Client> = {
    kind: async (apiVersion, kind) => ({ group: apiVersion, version: "v1", kind, plural: kind, namespaced: false }),
    get: async ({ kind, name }, options) => {
      requests.push(`get ${kind} as ${options?.as}`);
      if (kind === "ServiceAccount") return object("v1", kind, name);
      throw new ApiError("NotFound", "there is none");
    },
    apply: async (intent, options) => {
      requests.push(`apply ${intent.kind} as ${options?.as}, ${options?.dryRun === true ? "dry" : "for good"}`);
      return object("things.example.org/v1", "Widget", "a");
    },
    raw: async () => ({ status: { allowed: mayImpersonate } }),
  };
  const context = { client, events: { record: () => undefined }, now: () => 0 } as unknown as Context;
  if (COMPOSITION === undefined) throw new TypeError("the Composition of this test is invalid");
  await shadowRun(context, {
    definition: DEFINITION,
    revision: object(API_VERSION, "CompositionRevision", "c-1"),
    composition: COMPOSITION,
    xr: object("example.org/v1", "XThing", "x"),
    signal,
  });
  return requests;
}

test("a shadow run has the rights of its Composition's account", async () => {
  expect(await shadow(true)).toEqual([
    "get ServiceAccount as undefined",
    "apply Widget as system:serviceaccount:team:composer, dry",
  ]);
});

test("a shadow run with an account that may not be impersonated fails", async () => {
  await expect(shadow(false)).rejects.toThrow(expect.objectContaining({ code: "Forbidden" }));
});
