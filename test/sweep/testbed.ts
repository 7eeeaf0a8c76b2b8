import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { installCrds } from "@xfn/controller";
import type { JsonObject } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { type Client, connect, isApiError, loadKubeconfig } from "@xfn/kubernetes";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { functions } from "./functions.ts";
import { recordHistory } from "./history.ts";
import { apiVersionOf, COMPOSER, CRDS, DEFINITIONS, GROUP, NAMESPACE, WATCHED } from "./kinds.ts";
import { startLife } from "./life.ts";
import { at, objectsAt } from "./objects.ts";
import type { Testbed } from "./run-scenario.ts";

/** An API server with the kinds of the scenarios. */
export interface SweepTestbed extends Testbed, AsyncDisposable {
  readonly server: TestApiServer;
}

const READY_MS = 30_000;

/**
 * Starts an API server, installs the CRDs of the controller and the provider, and establishes the sweep's
 * definitions.
 */
export async function openTestbed(): Promise<SweepTestbed> {
  const server = await startApiServer();
  const client = await connect({
    access: await loadKubeconfig({ path: server.admin.kubeconfig }),
    fieldManager: "person",
  });
  const close = async (): Promise<void> => {
    await client.close();
    await server.stop();
  };
  try {
    const nop = await readFile(join(CHECKOUT, "examples/provider-nop/crd.yaml"), "utf8");
    for (const { value } of readDocuments(nop)) await client.apply(value as JsonObject);
    await Promise.all([
      installCrds(client, {
        packages: true,
        functionRuntimes: true,
        resourceComposition: true,
        usages: true,
        operations: true,
      }),
      established(client, ["nopresources.nop.crossplane.io"]),
    ]);
    await client.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
    for (const one of [...account(), ...definitions()]) await client.apply(one);
    await defined(client);
    await server.restartControllerManager();
    const history = await recordHistory(client, WATCHED);
    return {
      server,
      client: history.client,
      history,
      runner: functions,
      [Symbol.asyncDispose]: async () => {
        await history[Symbol.asyncDispose]();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

// Uses the controller itself; the scenarios of definitions test it.
async function defined(client: Client): Promise<void> {
  const life = startLife({
    client,
    runner: functions(),
    faultAt: () => undefined,
    isOurs: () => true,
    lock: "lock",
    known: () => undefined,
    now: Date.now,
  });
  const end = Date.now() + READY_MS;
  for (;;) {
    await life.informers.refresh();
    const { failures } = await life.pass();
    const { items } = await client.list(DEFINITIONS);
    const isReady = (type: string): boolean =>
      items.every((one) =>
        objectsAt(one, "status", "conditions").some((each) => each["type"] === type && each["status"] === "True"),
      );
    if (failures.length === 0 && isReady("Established")) break;
    if (Date.now() > end) throw new Error(`definitions were not established: ${failures.join("; ")}`);
  }
  await established(client, [
    `xthings.${GROUP}`,
    `things.${GROUP}`,
    `xgroups.${GROUP}`,
    `apps.${GROUP}`,
    `guards.${GROUP}`,
  ]);
}

async function established(client: Client, names: readonly string[]): Promise<void> {
  const end = Date.now() + READY_MS;
  for (const name of names) {
    for (;;) {
      const crd = await client
        .get({ apiVersion: apiVersionOf(CRDS), kind: CRDS.kind, name })
        .catch((error: unknown) => {
          if (isApiError(error, "NotFound")) return undefined;
          throw error;
        });
      const conditions = objectsAt(crd, "status", "conditions");
      if (conditions.some((one) => one["type"] === "Established" && one["status"] === "True")) break;
      if (Date.now() > end)
        throw new Error(`${name} was not established: ${JSON.stringify(at(crd, "status", "conditions"))}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  client.forgetKinds();
}

/** The service account with whose rights Guards are composed: ConfigMaps, but no LimitRanges. */
function account(): JsonObject[] {
  const rbac = "rbac.authorization.k8s.io";
  const metadata = { name: COMPOSER, namespace: NAMESPACE };
  const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    {
      apiVersion: `${rbac}/v1`,
      kind: "Role",
      metadata,
      rules: [
        { apiGroups: [GROUP], resources: ["guards", "guards/status"], verbs },
        { apiGroups: [""], resources: ["configmaps"], verbs },
        { apiGroups: [""], resources: ["limitranges"], verbs: ["get"] },
      ],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: rbac, kind: "Role", name: COMPOSER },
      subjects: [{ kind: "ServiceAccount", name: COMPOSER, namespace: NAMESPACE }],
    },
  ];
}

function definitions(): JsonObject[] {
  const schema = {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
    },
  };
  const definition = (plural: string, kind: string, more: JsonObject): JsonObject => ({
    apiVersion: apiVersionOf(DEFINITIONS),
    kind: DEFINITIONS.kind,
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      names: { kind, plural },
      versions: [{ name: "v1", served: true, referenceable: true, schema }],
      ...more,
    },
  });
  return [
    definition("xthings", "XThing", {
      claimNames: { kind: "Thing", plural: "things" },
      connectionSecretKeys: ["username", "password"],
    }),
    definition("xgroups", "XGroup", {}),
    definition("apps", "App", { scope: "Namespaced" }),
    definition("guards", "Guard", {
      scope: "Namespaced",
      serviceAccountRef: { namespace: NAMESPACE, name: COMPOSER },
    }),
  ];
}
