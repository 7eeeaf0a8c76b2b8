import { definitionReconciler, type ReconcilerOptions } from "@xfn/controller";
import type { JsonObject } from "@xfn/json";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { DEFINITION } from "../harness/composite-kinds.ts";
import { get } from "../harness/composite-memory.ts";
import { condition } from "../harness/conditions.ts";
import { type MemoryClient, memoryClient } from "../harness/memory-client.ts";

// The rights of users on the kinds of a definition whose CRD cannot become what the definition says.

const NAME = "xdatabases.example.org";
const ROLE = `crossplane:composite:${NAME}:aggregate-to-edit`;
const RULES = [{ apiGroups: ["example.org"], resources: ["xdatabases"], verbs: ["get"] }];
const DEFINED = { ...DEFINITION, metadata: { name: NAME, uid: "definition", resourceVersion: "1" } } as LiveObject;

function controlled(apiVersion: string, kind: string, name: string, uid: string, rest: JsonObject): LiveObject {
  const owner = { apiVersion: DEFINED.apiVersion, kind: DEFINED.kind, name: NAME, uid, controller: true };
  return { apiVersion, kind, metadata: { name, uid: name, resourceVersion: "1", ownerReferences: [owner] }, ...rest };
}

function contextOf(client: MemoryClient): ReconcilerOptions {
  const unneeded = (): never => {
    throw new TypeError("not needed");
  };
  return {
    client,
    informers: { acquire: unneeded, peek: () => undefined, stop: async () => {} },
    events: { record: () => {}, flush: async () => {} },
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    namespace: "xfn-system",
    pullSecretNamespaces: [],
    pollIntervalMs: 60_000,
    now: () => 0,
  };
}

/** The rules of users after a reconcile of the definition, whose CRD the server refuses. */
async function rulesWith(crd: LiveObject, reason: string): Promise<unknown> {
  const role = controlled("rbac.authorization.k8s.io/v1", "ClusterRole", ROLE, "definition", { rules: RULES });
  const client = memoryClient([DEFINED, crd, role]);
  client.beforeWrite = ({ object }) => {
    if (object.startsWith("CustomResourceDefinition/")) throw new ApiError("Invalid", "no", { status: 422 });
  };
  await definitionReconciler(contextOf(client))(NAME, new AbortController().signal);
  expect(condition(get(client, DEFINED.kind, NAME), "Established")).toMatchObject({ status: "False", reason });
  return get(client, "ClusterRole", ROLE)?.["rules"];
}

const established = { conditions: [{ type: "Established", status: "True" }] };
const crdOf = (uid: string, scope: string): LiveObject => {
  const crd = controlled("apiextensions.k8s.io/v1", "CustomResourceDefinition", NAME, uid, {
    spec: { group: "example.org", scope },
    status: established,
  });
  return uid === "definition" ? crd : { ...crd, metadata: { ...crd.metadata, ownerReferences: [] } };
};

test.each([
  ["a change that the server refuses", "Cluster", "CannotApplyCRD"],
  ["another scope", "Namespaced", "ScopeChanged"],
])("users keep their rights on existing composites when a definition gets %s", async (_, scope, reason) => {
  expect(await rulesWith(crdOf("definition", scope), reason)).toEqual(RULES);
});

test("users have no rights on the kind of a CRD that is not the definition's", async () => {
  expect(await rulesWith(crdOf("other", "Cluster"), "CRDOfAnother")).toEqual([]);
});

test("a definition without its finalizer gets no CRD, which its deletion would not find", async () => {
  const client = memoryClient([DEFINED]);
  client.beforeWrite = ({ object }) => {
    if (object.startsWith(DEFINED.kind)) throw new ApiError("Forbidden", "no", { status: 403 });
  };
  const reconcile = definitionReconciler(contextOf(client));
  await expect(reconcile(NAME, new AbortController().signal)).rejects.toMatchObject({ code: "Forbidden" });
  expect(get(client, "CustomResourceDefinition", NAME)).toBeUndefined();
});
