import { execFileSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildGrpcImage } from "../harness/grpc-function.ts";
import { needs } from "../harness/needs.ts";
import { type PackageCluster, startPackageCluster } from "../harness/package-cluster.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { Pods } from "../harness/pods.ts";

// A Provider whose CRD has two versions: examples/provider-nop, as an installed package. Its CRD names no Service. It
// declares that it can start without its kind.

const FOLDER = join(CHECKOUT, "examples/provider-nop");
const TIMEOUT = { timeout: 60_000 };
const BETA = "nopresources.v1beta1.nop.crossplane.io";
const ALPHA = "nopresources.v1alpha1.nop.crossplane.io";

describe("a Provider with a conversion webhook", needs("api-server", "crun", "docker-registry"), () => {
  const pods = new Pods("crossplane-system");
  let cluster: PackageCluster;
  let runtime = "";

  beforeAll(async () => {
    const controller = ["--enable-function-runtimes", "--activation=none"];
    cluster = await startPackageCluster({ controller, access: () => [], groups: [] });
    await kubectl("apply", "-f", join(CHECKOUT, "deploy/providers/rbac.yaml"));
    const printed = execFileSync(process.execPath, [join(FOLDER, "package.ts")], { encoding: "utf8" });
    const packageFile = printed.replace('"}}\n', '"},"spec":{"capabilities":["safe-start"]}}\n');
    const image = await buildGrpcImage(cluster.workspace, { name: "provider-nop", packageFile });
    await cluster.publish(image, "acme/provider-nop:v1");
    const source = `${cluster.registry.host}/acme/provider-nop:v1`;
    await cluster.apply(
      `apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: { name: nop }\nspec: { package: "${source}" }\n`,
    );
  }, 300_000);
  afterAll(async () => {
    await pods[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const kubectl = (...args: readonly string[]): Promise<string> => cluster.server.kubectl(args);
  const get = (...args: readonly string[]): Promise<string> => cluster.get(...args);
  const forProvider = (kind: string, name: string): Promise<string> =>
    get(kind, name, "-o", "jsonpath={.spec.forProvider}").catch(String);
  /** Starts the provider with the certificates of now. The API server finds it by the Service's name. */
  const roll = async (): Promise<void> => {
    const program = [process.execPath, join(FOLDER, "main.ts")];
    const env = { PATH: process.env["PATH"] ?? "", KUBECONFIG: cluster.server.admin.kubeconfig };
    const externalName = await pods.roll(cluster.server, runtime, program, env);
    const spec = { type: "ExternalName", externalName, clusterIP: null, clusterIPs: null };
    const patch = ["patch", "service", runtime, "-n", "crossplane-system", "--type=merge"];
    await kubectl(...patch, "-p", JSON.stringify({ spec }));
  };
  const authorities = async (): Promise<number> => {
    const path = "jsonpath={.spec.conversion.webhook.clientConfig.caBundle}";
    const bundle = await get("crd/nopresources.nop.crossplane.io", "-o", path);
    return Buffer.from(bundle, "base64").toString().split("BEGIN CERTIFICATE").length - 1;
  };

  const reason = (object: string, type: string): Promise<string> =>
    get(object, "-o", `jsonpath={.status.conditions[?(@.type=="${type}")]['status','reason']}`);
  const replicas = (): Promise<string> =>
    get("deployments", "-n", "crossplane-system", "-o", "jsonpath={.items[*].spec.replicas}");

  test("has no pods and no CRD until a policy activates its kind", async () => {
    await expect.poll(() => reason("provider/nop", "Healthy"), TIMEOUT).toBe("True AwaitingActivation");
    expect(await reason("provider/nop", "Ready")).toBe("True Available");
    const revision = (await get("providerrevisions", "-o", "name")).trim();
    expect(await reason(revision, "RuntimeHealthy")).toBe("True HealthyPackageRevision");
    expect(await reason(revision, "RuntimeActive")).toBe("False AwaitingActivation");
    expect(await replicas()).toBe("0");
    expect(await get("crd", "nopresources.nop.crossplane.io", "--ignore-not-found")).toBe("");
    await cluster.apply(
      'apiVersion: apiextensions.crossplane.io/v1alpha1\nkind: ManagedResourceActivationPolicy\nmetadata: { name: nop }\nspec: { activate: ["*.nop.crossplane.io"] }\n',
    );
    await expect.poll(replicas, TIMEOUT).toBe("1");
    await expect.poll(() => reason(revision, "RuntimeActive"), TIMEOUT).toBe("True ActiveRuntime");
    const rules = [
      "get",
      "clusterroles",
      "-l",
      "pkg.crossplane.io/runtime",
      "-o",
      "jsonpath={.items[*].rules[*].resources}",
    ];
    await expect.poll(() => kubectl(...rules), TIMEOUT).toContain("customresourcedefinitions");
  }, 200_000);

  test("installs, and its CRD names its own Service and authority", async () => {
    await expect.poll(() => get("providerruntimes", "-o", "name"), TIMEOUT).not.toBe("");
    runtime = (await get("providerruntimes", "-o", "jsonpath={.items[0].metadata.name}")).trim();
    await expect.poll(() => get("deployments", "-n", "crossplane-system", "-o", "name"), TIMEOUT).toContain(runtime);
    await roll();
    await kubectl("wait", "provider/nop", "--for=condition=Healthy", "--timeout=120s");
    const place = "jsonpath={.spec.conversion.webhook.clientConfig.service}";
    expect(JSON.parse(await get("crd/nopresources.nop.crossplane.io", "-o", place))).toEqual({
      namespace: "crossplane-system",
      name: runtime,
      port: 9443,
      path: "/convert",
    });
    expect(await authorities()).toBe(1);
  }, 200_000);

  test("converts between its versions, and reconciles objects of both", async () => {
    const object = (version: string, name: string, conditions: string): string =>
      `apiVersion: nop.crossplane.io/${version}\nkind: NopResource\nmetadata: { name: ${name} }\nspec: { forProvider: { ${conditions} } }\n`;
    const beta = object("v1beta1", "beta", 'conditions: [{ after: 0s, type: Ready, status: "True" }]');
    await expect.poll(() => cluster.apply(beta).then(() => "", String), TIMEOUT).toBe("");
    await cluster.apply(
      object("v1alpha1", "alpha", 'conditionAfter: [{ time: 0s, conditionType: Ready, conditionStatus: "True" }]'),
    );
    await kubectl("wait", "nopresources/beta", "nopresources/alpha", "--for=condition=Ready", "--timeout=60s");
    for (const name of ["alpha", "beta"]) {
      expect(JSON.parse(await forProvider(BETA, name))).toEqual({
        conditions: [{ after: "0s", type: "Ready", status: "True" }],
      });
      expect(JSON.parse(await forProvider(ALPHA, name))).toEqual({
        conditionAfter: [{ time: "0s", conditionType: "Ready", conditionStatus: "True" }],
      });
    }
  }, 200_000);

  test("goes on converting while the certificate authority is replaced", async () => {
    await kubectl("delete", "secret", "xfn-runtime-ca", "-n", "crossplane-system");
    await expect.poll(authorities, TIMEOUT).toBe(2);
    // The pod has a certificate of the previous authority until it restarts.
    expect(await forProvider(BETA, "alpha")).toContain("after");
    for (let restarts = 0; restarts < 2; restarts++) {
      await roll();
      await expect.poll(() => forProvider(BETA, "alpha"), TIMEOUT).toContain("after");
    }
    for (const end = Date.now() + 60_000; (await authorities()) !== 1 && Date.now() < end; await sleep(500))
      await roll();
    expect(await authorities()).toBe(1);
    expect(await forProvider(BETA, "alpha")).toContain("after");
  }, 300_000);
});
