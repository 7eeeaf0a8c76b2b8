import { checkComposition, documentOf } from "@xfn/composition";
import { parseDefinition } from "@xfn/composition/definition";
import { type FunctionIO, parseFunctionIO, printFunctionIO } from "@xfn/functionio";
import { ApiError, type Client, type LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
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
  const context = { client, events: { record: () => undefined }, now: () => 0 } as unknown as Parameters<
    typeof shadowRun
  >[0];
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

test("a shadow run shows no value of a Secret that a function copied into fields", async () => {
  const token = "s3cr3t-t0ken-of-a-step";
  const cached = "s3cr3t-of-a-composed-secret";
  const desired = "s3cr3t-that-a-function-made";
  const { composition } = checkComposition(
    documentOf({
      apiVersion: API_VERSION,
      kind: "Composition",
      metadata: { name: "c" },
      spec: {
        compositeTypeRef: { apiVersion: "example.org/v1", kind: "XThing" },
        mode: "Pipeline",
        pipeline: [
          {
            step: "call",
            webhook: {
              url: "https://functions.example.org",
              credentials: { secretRef: { namespace: "team", name: "token" } },
            },
          },
        ],
      },
    }),
  );
  if (composition === undefined) throw new TypeError("the Composition of this test is invalid");
  const widget: LiveObject = {
    ...object("things.example.org/v1", "Widget", "a"),
    metadata: {
      name: "a",
      uid: "a",
      resourceVersion: "1",
      annotations: { "crossplane.io/composition-resource-name": "a" },
      ownerReferences: [{ apiVersion: "example.org/v1", kind: "XThing", name: "x", uid: "x", controller: true }],
    },
  };
  const secret: LiveObject = {
    ...object("v1", "Secret", "b"),
    metadata: { ...widget.metadata, name: "b", annotations: { "crossplane.io/composition-resource-name": "b" } },
    data: { password: Buffer.from(cached).toString("base64") },
  };
  const client: Partial<Client> = {
    kind: async (apiVersion, kind) => ({
      group: apiVersion === "v1" ? "" : apiVersion,
      version: "v1",
      kind,
      plural: kind === "Secret" ? "secrets" : kind,
      namespaced: false,
    }),
    get: async ({ kind }) => {
      if (kind === "Widget") return widget;
      if (kind !== "Secret") throw new ApiError("NotFound", "there is none");
      return { ...object("v1", "Secret", "token"), data: { token: Buffer.from(token).toString("base64") } };
    },
    apply: async (intent) =>
      ({ ...intent, metadata: intent.kind === "Secret" ? secret.metadata : widget.metadata }) as LiveObject,
  };
  const context = {
    client,
    // Composed Secrets are read from the cache.
    composed: {
      watch: () => undefined,
      cache: () => ({
        get: (name: string) => (name === "b" ? secret : undefined),
        isWhole: () => true,
        complete: () => true,
      }),
      problem: () => undefined,
    },
    allowComposedSecrets: true,
    credentialsSecretNamespaces: ["team"],
    runner: { run: () => Promise.reject(new TypeError("not needed")) },
    events: { record: () => undefined },
    now: () => 0,
    webhooks: {
      call: async (_: string, input: Uint8Array, options: { token?: string }) => {
        const io = parseFunctionIO(input);
        const header = `Basic ${Buffer.from(`user:${options.token}`).toString("base64")}`;
        const resource = {
          apiVersion: "things.example.org/v1",
          kind: "Widget",
          spec: { copy: options.token, header, cached, made: desired, [desired]: 1 },
        };
        const made = { apiVersion: "v1", kind: "Secret", stringData: { made: desired }, data: secret["data"] };
        const resources = [
          { name: "a", resource },
          { name: "b", resource: made },
        ];
        return new TextEncoder().encode(printFunctionIO({ ...io, desired: { resources } } as unknown as FunctionIO));
      },
    },
  } as unknown as Parameters<typeof shadowRun>[0];
  const differences = await shadowRun(context, {
    definition: DEFINITION,
    revision: object(API_VERSION, "CompositionRevision", "c-1"),
    composition,
    xr: {
      ...object("example.org/v1", "XThing", "x"),
      spec: {
        resourceRefs: [
          { apiVersion: "things.example.org/v1", kind: "Widget", name: "a" },
          { apiVersion: "v1", kind: "Secret", name: "b" },
        ],
      },
    },
    signal,
  });
  expect(differences.map(({ path }) => path)).toEqual(
    expect.arrayContaining(["spec.copy", "spec.header", "spec.cached", "spec.made"]),
  );
  const shown = JSON.stringify(differences);
  for (const one of [token, cached, desired]) expect(shown).not.toContain(one);
  expect(shown).not.toContain(Buffer.from(`user:${token}`).toString("base64"));
});
