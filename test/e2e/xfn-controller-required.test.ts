import { join } from "node:path";
import { isObject, type JsonObject } from "@xfn/functionio";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  type FunctionServer,
  serveTestFunction,
  type TestResponse,
} from "../../packages/function-grpc/testing/function-server.ts";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";

// What functions require, with the rights of deploy/ and no others: the controller is a user that only these roles
// are bound to.

const USER = "controller";
const DEPLOY = join(CHECKOUT, "deploy/base");

const DEFINITION = `
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: { name: xlookups.example.org }
spec:
  group: example.org
  names: { kind: XLookup, plural: xlookups }
  versions:
    - name: v1
      served: true
      referenceable: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: { type: object, x-kubernetes-preserve-unknown-fields: true }
            status: { type: object, x-kubernetes-preserve-unknown-fields: true }
`;

const COMPOSITION = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: lookups }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XLookup }
  mode: Pipeline
  pipeline:
    - { step: look, functionRef: { name: function-look } }
`;

const role = (name: string, group: string, resources: string, verbs: string): string => `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: "test:${name}", labels: { rbac.crossplane.io/aggregate-to-crossplane: "true" } }
rules:
  - { apiGroups: ["${group}"], resources: [${resources}], verbs: [${verbs}] }
`;

const ALL = "get, list, watch, create, update, patch, delete";

/** The names under which the function requires objects, by what it looks for. */
const LOOKUPS: Readonly<Record<string, NonNullable<TestResponse["requires"]>>> = {
  named: { it: { apiVersion: "v1", kind: "ConfigMap", namespace: "default", matchName: "size" } },
  labelled: {
    it: { apiVersion: "v1", kind: "ConfigMap", namespace: "default", matchLabels: { labels: new Map([["app", "x"]]) } },
  },
  secret: { it: { apiVersion: "v1", kind: "Secret", namespace: "default", matchName: "password" } },
};

describe("what functions require, with the roles of deploy/", needs("api-server"), () => {
  let server: TestApiServer;
  let controller: RunningController;
  let fn: FunctionServer;

  beforeAll(async () => {
    server = await startApiServer({ users: [USER] });
    for (const file of ["namespace", "rbac"]) await server.kubectl(["apply", "-f", join(DEPLOY, `${file}.yaml`)]);
    await apply(role("xlookups", "example.org", "xlookups, xlookups/status, xlookups/finalizers", ALL));
    await server.kubectl(["create", "clusterrolebinding", "test", "--clusterrole=xfn-controller", `--user=${USER}`]);
    // A controller of Kubernetes aggregates the roles with the label.
    await vi.waitFor(async () => expect(await may("get", "secrets")).toBe(true), 30_000);
    fn = await serveTestFunction(({ xr, required }) => ({
      requires: LOOKUPS[String((xr["spec"] as JsonObject)["look"])] ?? {},
      composite: { ready: true, resource: { status: { size: sizeOf(required("it")?.[0]) } } },
    }));
    controller = await startController(server.user(USER).kubeconfig, {
      args: [
        "--namespace",
        "crossplane-system",
        "--enable-composition-functions",
        // Only a change of what a function requires, or a retry, reconciles again.
        "--poll-interval",
        "10m",
        "--function",
        `function-look=http://${fn.address}`,
      ],
    });
    await apply(DEFINITION);
    await server.kubectl(["wait", "xrd", "--all", "--for=condition=Established", "--timeout=60s"]);
    await apply(COMPOSITION);
  }, 120_000);
  afterAll(async () => {
    await controller?.[Symbol.asyncDispose]();
    fn?.stop();
    await server?.stop();
  });

  const apply = (yaml: string): Promise<string> => server.kubectl(["apply", "-f", "-"], { input: yaml });
  const get = async (...args: readonly string[]): Promise<string> => (await server.kubectl(["get", ...args])).trim();
  const may = async (verb: string, what: string): Promise<boolean> => {
    const asked = server.kubectl(["auth", "can-i", verb, what, "-n", "default", "--as", USER]);
    return (await asked.catch(() => "no")).trim() === "yes";
  };
  const look = async (name: string, what: string): Promise<void> => {
    const xr = `apiVersion: example.org/v1\nkind: XLookup\nmetadata: { name: ${name} }\nspec: { look: ${what} }\n`;
    await expect.poll(() => apply(xr).then(() => "", String)).toBe("");
  };
  const synced = async (name: string, field: string): Promise<string> =>
    await get("xlookup", name, "-o", `jsonpath={.status.conditions[?(@.type=="Synced")].${field}}`);
  const size = async (name: string): Promise<string> => await get("xlookup", name, "-o", "jsonpath={.status.size}");
  const configMap = async (value: string): Promise<void> => {
    const metadata = "{ name: size, namespace: default, labels: { app: x } }";
    await apply(`apiVersion: v1\nkind: ConfigMap\nmetadata: ${metadata}\ndata: { size: ${value} }\n`);
  };

  test("that the controller may not read is a condition with the kind, the object and the way out", async () => {
    expect(await may("get", "configmaps")).toBe(false);
    await configMap("small");
    await look("named", "named");
    await look("labelled", "labelled");
    for (const [name, what] of [
      ["named", "ConfigMap default/size"],
      ["labelled", "objects of kind ConfigMap"],
    ] as const) {
      await expect.poll(() => synced(name, "reason")).toBe("Forbidden");
      const message = await synced(name, "message");
      expect(message).toContain('step "look"');
      expect(message).toContain(`cannot read the required ${what}`);
      expect(message).toContain(`User "${USER}"`);
      expect(message).toContain("grant the controller get, list and watch of ConfigMap");
    }
  });

  test("is read as soon as the right is granted; with get alone one named object, and no list", async () => {
    await apply(role("configmaps", "", "configmaps", "get"));
    await expect.poll(() => may("get", "configmaps")).toBe(true);
    await expect.poll(() => size("named"), { timeout: 60_000 }).toBe("small");
    expect(await synced("named", "status")).toBe("True");
    expect(await synced("labelled", "reason")).toBe("Forbidden");
  });

  test("is watched with list and watch: a change reaches the XR at once", async () => {
    await apply(role("configmaps", "", "configmaps", "get, list, watch"));
    await expect.poll(() => may("watch", "configmaps")).toBe(true);
    await expect.poll(() => size("labelled"), { timeout: 60_000 }).toBe("small");
    await configMap("large");
    await expect.poll(() => size("labelled"), { timeout: 60_000 }).toBe("large");
  });

  test("is never a Secret, which those roles could read", async () => {
    expect(await may("get", "secrets")).toBe(true);
    await server.kubectl(["create", "secret", "generic", "password", "-n", "default", "--from-literal=size=hunter2"]);
    await look("secret", "secret");
    await expect.poll(() => synced("secret", "reason")).toBe("SecretsDisabled");
    expect(await get("xlookup", "secret", "-o", "json")).not.toContain("hunter2");
  });
});

function sizeOf(configMap: JsonObject | undefined): string {
  const data = configMap?.["data"];
  return isObject(data) && typeof data["size"] === "string" ? data["size"] : "none";
}
