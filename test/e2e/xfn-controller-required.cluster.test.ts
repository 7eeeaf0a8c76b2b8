import { join } from "node:path";
import { isObject, type JsonObject } from "@xfn/json";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  type FunctionServer,
  serveTestFunction,
  type TestResponse,
} from "../../packages/function-grpc/testing/function-server.ts";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { definitionYaml } from "../harness/definition-yaml.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";

// Required resources with only the rights of deploy/: the controller is a user that only these roles are bound to.

const USER = "controller";
const DEPLOY = join(CHECKOUT, "deploy/base");

const DEFINITION = definitionYaml("XLookup");

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

describe("required resources, with the roles of deploy/", needs("api-server"), () => {
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
        "--enable-pipeline-inspector",
        "--pipeline-inspector-socket",
        "/run/no-inspector.sock",
      ],
    });
    await apply(DEFINITION);
    await server.kubectl(["wait", "xrd", "--all", "--for=condition=Established", "--timeout=60s"]);
    await apply(COMPOSITION);
  }, 300_000);
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
      await expect.poll(() => synced(name, "message")).toMatch(/^Forbidden: /);
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
    expect(await synced("labelled", "message")).toMatch(/^Forbidden: /);
  });

  test("is read while the pipeline inspector of the flags is absent, which a metric counts", async () => {
    const metrics = await (await fetch(`${controller.http}/metrics`)).text();
    for (const type of ["request", "response"])
      expect(metrics).toMatch(
        new RegExp(`^xfn_controller_inspector_dropped_total\\{type="${type}",reason="Unreachable"\\} [1-9]`, "m"),
      );
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
    await expect.poll(() => synced("secret", "message")).toMatch(/^SecretsDisabled: /);
    expect(await get("xlookup", "secret", "-o", "json")).not.toContain("hunter2");
  });

  // After the others, whose XRs name no Composition: there are several from here on.
  describe("an environment", () => {
    const environments = async (name: string, environment: string): Promise<void> => {
      await apply(`
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: ${name} }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XLookup }
  environment: ${environment}
---
apiVersion: example.org/v1
kind: XLookup
metadata: { name: ${name} }
spec: { compositionRef: { name: ${name} } }
`);
    };
    const config = async (name: string, data: string, version = "v1beta1", labels = "{}"): Promise<void> => {
      const metadata = `{ name: ${name}, labels: ${labels} }`;
      const apiVersion = `apiextensions.crossplane.io/${version}`;
      await apply(`apiVersion: ${apiVersion}\nkind: EnvironmentConfig\nmetadata: ${metadata}\ndata: ${data}\n`);
    };
    const refs = async (name: string): Promise<string> =>
      await get("xlookup", name, "-o", "jsonpath={.spec.environmentConfigRefs[*].name}");
    const toSize = "patches: [{ type: ToCompositeFieldPath, fromFieldPath: size, toFieldPath: status.size }]";

    test("that misses an EnvironmentConfig is a condition with its name, and is made once that exists", async () => {
      await environments("referenced", `{ environmentConfigs: [{ ref: { name: zone } }], ${toSize} }`);
      await expect.poll(() => synced("referenced", "message")).toMatch(/^InvalidEnvironment: /);
      const message = await synced("referenced", "message");
      expect(message).toContain('the EnvironmentConfig "zone" does not exist; create it, or set');
      await config("zone", "{ size: tiny }", "v1alpha1");
      await expect.poll(() => size("referenced"), { timeout: 60_000 }).toBe("tiny");
      expect(await refs("referenced")).toBe("zone");
    });

    test("follows changes of the EnvironmentConfigs that it selects", async () => {
      await config("zone", "{ size: huge }");
      await expect.poll(() => size("referenced"), { timeout: 60_000 }).toBe("huge");
      await config("stage", "{ size: one }", "v1beta1", "{ stage: by-label }");
      const label = "{ key: stage, valueFromFieldPath: metadata.name }";
      const sources = `[{ type: Selector, selector: { mode: Multiple, matchLabels: [${label}] } }]`;
      await environments("by-label", `{ policy: { resolve: Always }, environmentConfigs: ${sources}, ${toSize} }`);
      await expect.poll(() => size("by-label"), { timeout: 60_000 }).toBe("one");
      await config("stage-more", "{ size: two }", "v1beta1", "{ stage: by-label }");
      await expect.poll(() => size("by-label"), { timeout: 60_000 }).toBe("two");
      await server.kubectl(["delete", "environmentconfig", "stage-more"]);
      await expect.poll(() => size("by-label"), { timeout: 60_000 }).toBe("one");
      expect(await refs("by-label")).toBe("");
    });

    test("that patches the field that selects it ends its loop, and a condition says so", async () => {
      for (const [name, next] of ["ab", "ba"].map((pair) => [...pair]))
        await config(`turn-${name}`, `{ next: ${next} }`, "v1beta1", `{ turn: ${name} }`);
      const label = "{ key: turn, valueFromFieldPath: status.turn, fromFieldPathPolicy: Optional }";
      const sources = `[{ type: Selector, selector: { matchLabels: [${label}] } }]`;
      const toTurn = "patches: [{ type: ToCompositeFieldPath, fromFieldPath: next, toFieldPath: status.turn }]";
      const always = "policy: { resolve: Always }";
      await environments(
        "turning",
        `{ defaultData: { next: a }, ${always}, environmentConfigs: ${sources}, ${toTurn} }`,
      );
      const responsive = async (field: string): Promise<string> =>
        await get("xlookup", "turning", "-o", `jsonpath={.status.conditions[?(@.type=="Responsive")].${field}}`);
      await expect.poll(() => responsive("reason"), { timeout: 60_000 }).toBe("WatchCircuitOpen");
      expect(await responsive("message")).toMatch(/alternates .*turn-[ab] and turn-[ab].*remove that patch/);
      expect(await synced("turning", "status")).toBe("True");
    });
  });
});

function sizeOf(configMap: JsonObject | undefined): string {
  const data = configMap?.["data"];
  return isObject(data) && typeof data["size"] === "string" ? data["size"] : "none";
}
