import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { definitionYaml } from "../harness/definition-yaml.ts";
import { buildGoProgram } from "../harness/go-program.ts";
import { buildGrpcImage } from "../harness/grpc-function.ts";
import { needs } from "../harness/needs.ts";
import { type PackageCluster, startPackageCluster } from "../harness/package-cluster.ts";

// Functions as packages: xfn-controller installs them from a real registry, and its runner serves them.

const DEFINITION = definitionYaml("XGreeting", { spec: "{ type: object, properties: { name: { type: string } } }" });

const COMPOSITION = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: greetings }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XGreeting }
  mode: Pipeline
  pipeline:
    - { step: greet, functionRef: { name: function-greeting } }
`;

const XR = `
apiVersion: example.org/v1
kind: XGreeting
metadata: { name: ada }
spec: { name: Ada, compositionRef: { name: greetings } }
`;

/** As Crossplane's documentation writes it. */
const functionOf = (source: string, version = "v1"): string => `
apiVersion: pkg.crossplane.io/${version}
kind: Function
metadata:
  name: function-greeting
spec:
  package: ${source}
`;

const NEEDS = needs("api-server", "crun", "docker-registry", "go-functions");

describe("xfn-controller installs Functions", NEEDS, () => {
  let cluster: PackageCluster;

  beforeAll(async () => {
    // The XRs follow an upgrade long before they are polled.
    cluster = await startPackageCluster({
      controller: ["--poll-interval", "10m"],
      access: () => [],
      groups: ["example.org"],
    });
    const { workspace } = cluster;
    const program = buildGoProgram("go-greeting");
    const env = { NAMESPACE: "default" };
    const push = (from: string): Promise<void> => cluster.publish(from, `fns/greeting:${from}`);
    for (const [name, GREETING] of [
      ["v1", "Hello"],
      ["v2", "Hi"],
    ] as const) {
      await push(await buildGrpcImage(workspace, { name, program, env: { ...env, GREETING } }));
    }
    const packageFile = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: { name: provider-a }\n";
    await push(await buildGrpcImage(workspace, { name: "provider", program, packageFile }));
    await push(await buildGrpcImage(workspace, { name: "bare", program, packageFile: undefined }));
    await apply(DEFINITION);
    await kubectl("wait", "xrd", "--all", "--for=condition=Established", "--timeout=60s");
    await apply(COMPOSITION);
  }, 900_000);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  const apply = (yaml: string): Promise<string> => cluster.apply(yaml);
  const get = (...args: readonly string[]): Promise<string> => cluster.get(...args);
  const kubectl = (...args: readonly string[]): Promise<string> => cluster.server.kubectl(args);
  const install = (tag: string, version?: string): Promise<string> =>
    apply(functionOf(`${cluster.registry.host}/fns/greeting:${tag}`, version));
  const conditionOf = (what: string, type: string): Promise<string> =>
    get(...what.split("/"), "-o", `jsonpath={.status.conditions[?(@.type=='${type}')]}`);
  const synced = (): Promise<string> => conditionOf("xgreeting/ada", "Synced");
  const greeting = (): Promise<string> => get("configmaps", "-o", "jsonpath={.items[*].data.greeting}");
  const revisions = async (): Promise<string[]> => {
    const path = '{range .items[*]}{.spec.revision} {.spec.desiredState}{"\\n"}{end}';
    return (await get("functionrevisions", "-o", `jsonpath=${path}`)).split("\n").toSorted();
  };

  test("for which an XR waits, and says so", async () => {
    await expect.poll(() => apply(XR).then(() => "", String)).toBe("");
    await expect.poll(synced).toContain("FunctionNotFound: ");
    expect(await synced()).toContain("there is no Function function-greeting; create it");
    await install("absent", "v1beta1");
    await expect
      .poll(() => conditionOf("function/function-greeting", "Installed"))
      .toContain("check the tag or digest");
    // The XR may have been reconciled before the registry answered.
    await expect.poll(synced).toContain("the Function function-greeting is not ready: cannot resolve spec.package");
    expect(await synced()).toContain("FunctionNotReady: ");
  });

  test("and composes as soon as one is healthy", async () => {
    await install("v1");
    await kubectl("wait", "function/function-greeting", "--for=condition=Healthy", "--timeout=60s");
    await kubectl("wait", "function/function-greeting", "--for=condition=Installed", "--timeout=60s");
    await kubectl("wait", "xgreeting/ada", "--for=condition=Synced", "--timeout=60s");
    expect(await greeting()).toBe("Hello Ada");
    expect(await get("function", "function-greeting", "-o", "jsonpath={.status.resolvedPackage}")).toMatch(
      /\/fns\/greeting:v1$/,
    );
    const columns = (await get("functions")).split("\n");
    expect(columns[0]).toMatch(/^NAME +INSTALLED +HEALTHY +PACKAGE +AGE$/);
    expect(columns[1]).toMatch(/^function-greeting +True +True +127\.0\.0\.1:\d+\/fns\/greeting:v1 /);
    const [name, label, endpoint] = (
      await get(
        "functionrevisions.v1beta1.pkg.crossplane.io",
        "-o",
        "jsonpath={.items[0].metadata.name} {.items[0].metadata.labels.pkg\\.crossplane\\.io/package} {.items[0].status.endpoint}",
      )
    ).split(" ");
    expect(name).toMatch(/^function-greeting-[0-9a-f]{12}$/);
    expect(label).toBe("function-greeting");
    expect(endpoint).toBe(cluster.runner);
  });

  test("and follows an upgrade and a rollback", async () => {
    await install("v2");
    await expect.poll(greeting).toBe("Hi Ada");
    await expect.poll(revisions).toEqual(["1 Inactive", "2 Active"]);
    await install("v1");
    await expect.poll(greeting).toBe("Hello Ada");
    await expect.poll(revisions).toEqual(["2 Inactive", "3 Active"]);
  });

  test.each([
    ["a Provider", "provider", "is a Provider and not a Function; install it as a Provider"],
    ["no package", "bare", "has no package.yaml, so it is not a Crossplane package"],
  ])("and goes on with the older one when a newer one is %s", async (_, tag, message) => {
    await install(tag);
    const healthy = (): Promise<string> => conditionOf("function/function-greeting", "Healthy");
    await expect.poll(healthy).toContain(message);
    expect(await healthy()).toContain("still serves");
    await kubectl("annotate", "--overwrite", "xgreeting/ada", `seen=${tag}`);
    await expect.poll(synced).toContain('"status":"True"');
    expect(await greeting()).toBe("Hello Ada");
    await install("v1");
    await kubectl("wait", "function/function-greeting", "--for=condition=Ready", "--timeout=60s");
  });

  test("whose deletion deletes their revisions, and XRs say that the Function is gone", async () => {
    await kubectl("delete", "function", "function-greeting", "--timeout=60s");
    await expect.poll(() => get("functionrevisions", "-o", "name"), { timeout: 60_000 }).toBe("");
    await expect.poll(synced).toContain("FunctionNotFound: ");
    expect(await greeting()).toBe("Hello Ada");
  });

  test("with the rights of deploy/packages", () => {
    expect(cluster.forbidden()).toEqual([]);
  });
});
