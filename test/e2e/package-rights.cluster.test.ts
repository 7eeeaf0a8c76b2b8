import { readFileSync } from "node:fs";
import { join } from "node:path";
import { copyImage } from "@xfn/oci-rootfs/registry";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type AuditLog, auditLog } from "../harness/audit-log.ts";
import { startController } from "../harness/controller-program.ts";
import { buildGrpcImage } from "../harness/grpc-function.ts";
import { objectsOf } from "../harness/helm.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { PATIENCE } from "../harness/patience.ts";
import { startRegistry, type TestRegistry } from "../harness/registry.ts";
import { NAMESPACE, rightsOf } from "../harness/rights.ts";
import { storeOf } from "../harness/shell-function.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";
import { Workspace } from "../harness/workspace.ts";

// The rights of deploy/ for packages, providers and usages: nothing is forbidden, and each right is used, by the audit
// log of an API server.

const USER = "controller";
const BASE = "deploy/base/rbac.yaml";
const RULES = ["packages", "providers", "usages"].map((folder) => `deploy/${folder}/rbac.yaml`);

/** Rights without a request in this test, with their use. */
const RARE: Readonly<Record<string, string>> = {
  "patch customresourcedefinitions.apiextensions.k8s.io/status":
    "a changed storage version: controller-rights.cluster.test.ts",
  ...Object.fromEntries(
    ["functions", "configurations", "providers"]
      .flatMap((plural) => [plural, `${plural.slice(0, -1)}revisions`])
      .concat("functionruntimes", "providerruntimes")
      .map((plural) => [
        `update ${plural}.pkg.crossplane.io/finalizers`,
        "the admission plugin OwnerReferencesPermissionEnforcement, which this server lacks",
      ]),
  ),
  ...Object.fromEntries(
    ["deployments.apps", "services", "serviceaccounts", "secrets"].map((resource) => [
      `delete ${resource} in ${NAMESPACE}`,
      "functions that move from Deployments to the runner",
    ]),
  ),
  ...Object.fromEntries(
    ["escalate", "bind"].map((verb) => [
      `${verb} clusterroles.rbac.authorization.k8s.io`,
      "checked by the API server when roles are written",
    ]),
  ),
};

const meta = (kind: string, spec: string): string =>
  `apiVersion: meta.pkg.crossplane.io/v1\nkind: ${kind}\nmetadata: { name: mine }\nspec: ${spec}\n`;

const SCHEMA = "{ openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }";
const BUCKETS = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: buckets.aws.example.org }
spec:
  group: aws.example.org
  scope: Cluster
  names: { kind: Bucket, plural: buckets }
  versions: [{ name: v1, served: true, storage: true, schema: ${SCHEMA} }]
`;
const webhooks = (kind: string): string => `
apiVersion: admissionregistration.k8s.io/v1
kind: ${kind}WebhookConfiguration
metadata: { name: buckets }
webhooks:
  - name: buckets.aws.example.org
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Ignore
    clientConfig: { service: { name: any, namespace: any, path: /check } }
    rules: [{ apiGroups: [aws.example.org], apiVersions: [v1], operations: [CREATE], resources: [buckets] }]
`;
const APP = `
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: { name: xapps.app.example.org }
spec:
  group: app.example.org
  names: { kind: XApp, plural: xapps }
  versions: [{ name: v1, served: true, referenceable: true, schema: { openAPIV3Schema: { type: object } } }]
---
apiVersion: apiextensions.crossplane.io/v1alpha1
kind: ManagedResourceActivationPolicy
metadata: { name: app }
spec: { activate: [buckets.aws.example.org] }
`;
const composition = (revision: string, step: string): string => `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: apps, labels: { revision: "${revision}" } }
spec:
  compositeTypeRef: { apiVersion: app.example.org/v1, kind: XApp }
  mode: Pipeline
  pipeline: [{ step: a, functionRef: ${step} }]
`;
const USAGES = `
apiVersion: v1
kind: ConfigMap
metadata: { name: used, namespace: default }
---
apiVersion: protection.crossplane.io/v1beta1
kind: Usage
metadata: { name: usage, namespace: default }
spec: { reason: it is needed, of: { apiVersion: v1, kind: ConfigMap, resourceRef: { name: used } } }
---
apiVersion: protection.crossplane.io/v1beta1
kind: ClusterUsage
metadata: { name: usage }
spec: { reason: it is needed, of: { apiVersion: v1, kind: Namespace, resourceRef: { name: used } } }
---
apiVersion: apiextensions.crossplane.io/v1beta1
kind: Usage
metadata: { name: usage }
spec: { reason: it is needed, of: { apiVersion: v1, kind: Namespace, resourceRef: { name: used } } }
`;
/** The kinds that usages name, and those of the test's definitions. */
const KINDS_ROLE = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: kinds, labels: { rbac.crossplane.io/aggregate-to-crossplane: "true" } }
rules:
  - { apiGroups: [""], resources: [configmaps, namespaces], verbs: [get, list, patch] }
  - { apiGroups: [app.example.org], resources: ["*"], verbs: [get, list, watch, create, update, patch, delete] }
`;

describe("the rights of the controller", needs("api-server", "docker-registry"), () => {
  let server: TestApiServer;
  let audit: AuditLog;
  let registry: TestRegistry;
  let workspace: Workspace;

  beforeAll(async () => {
    audit = auditLog(temporaryFolder(), USER);
    [server, registry, workspace] = await Promise.all([
      startApiServer({ users: [USER], arguments: audit.arguments }),
      startRegistry(),
      Workspace.create(),
    ]);
    await kubectl("create", "namespace", NAMESPACE);
    await kubectl("create", "namespace", "used");
  });
  afterAll(async () => {
    await server?.stop();
    await registry?.stop();
    await workspace?.[Symbol.asyncDispose]();
  });

  const kubectl = (...args: readonly string[]): Promise<string> => server.kubectl(args);
  const apply = (input: string): Promise<string> => server.kubectl(["apply", "-f", "-"], { input });
  const publish = async (tag: string, ...documents: readonly string[]): Promise<void> => {
    const from = await buildGrpcImage(workspace, { name: tag.replace("/", "-"), packageFile: documents.join("---\n") });
    const to = `${registry.host}/${tag}`;
    await copyImage({ from, to, store: await storeOf(workspace), insecureRegistries: [registry.host] });
  };
  const install = (kind: string, tag: string): Promise<string> =>
    apply(
      `apiVersion: pkg.crossplane.io/v1\nkind: ${kind}\nmetadata: { name: ${tag.replace(/.*\/(.*):.*/, "$1")} }\nspec: { package: "${registry.host}/${tag}" }\n`,
    );
  const get = (...args: readonly string[]): Promise<string> => kubectl("get", ...args).catch(String);
  /** Reports all Deployments as available, as nodes would. */
  const roll = async (): Promise<void> => {
    const path = 'jsonpath={range .items[*]}{.metadata.name} {.metadata.generation}{"\\n"}{end}';
    for (const line of (await kubectl("get", "deployments", "-n", NAMESPACE, "-o", path)).split("\n").filter(Boolean)) {
      const [name = "", generation] = line.split(" ");
      const counts = { replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 };
      const conditions = [{ type: "Available", status: "True", reason: "Test", message: "" }];
      const status = { observedGeneration: Number(generation), ...counts, conditions };
      const patch = ["patch", "deployment", name, "-n", NAMESPACE, "--subresource=status", "--type=merge", "-p"];
      await kubectl(...patch, JSON.stringify({ status }));
    }
  };
  const healthy = async (what: string): Promise<void> => {
    const ready = ".status.conditions[?(@.type=='Ready')]";
    const path = `jsonpath={.metadata.generation} {${ready}.observedGeneration} {${ready}.status}{${ready}.message}`;
    const rolled = async (): Promise<string> => roll().then(() => get(what, "-o", path));
    await expect.poll(rolled, PATIENCE).toMatch(/^(\d+) \1 True$/);
  };

  test("are enough for packages, providers and usages, and each of them is used", async () => {
    for (const path of [BASE, ...RULES]) await kubectl("apply", "-f", join(CHECKOUT, path));
    await apply(KINDS_ROLE);
    await kubectl("create", "clusterrolebinding", "test", "--clusterrole=xfn-controller", `--user=${USER}`);
    for (const role of ["xfn-controller", "xfn-controller-runtimes"])
      await kubectl("create", "rolebinding", `${role}-test`, "-n", NAMESPACE, `--role=${role}`, `--user=${USER}`);
    const may = async (): Promise<string> =>
      (await kubectl("auth", "can-i", "patch", "configmaps", "--as", USER).catch(() => "")).trim();
    await expect.poll(may, PATIENCE).toBe("yes");
    const { host } = registry;
    const dependencies = ["function: f", "provider: p", "configuration: c"]
      .map((one) => `{ ${one.replace(": ", `: ${host}/acme/`)}, version: "<v2.0.0" }`)
      .join(", ");
    await publish("acme/f:v1.0.0", meta("Function", "{ capabilities: [composition] }"));
    await publish("acme/c:v1.0.0", meta("Configuration", "{}"));
    await publish("acme/p:v1.0.0", meta("Provider", "{}"), BUCKETS, webhooks("Validating"), webhooks("Mutating"));
    for (const version of ["2", "3"]) {
      await publish(`acme/f:v${version}.0.0`, meta("Function", `{ capabilities: [composition, v${version}] }`));
      await publish(`acme/p:v${version}.0.0`, meta("Provider", `{ capabilities: [v${version}] }`), BUCKETS);
    }
    for (const version of ["1", "2", "3"])
      await publish(
        `acme/app:v${version}.0.0`,
        meta("Configuration", `{ dependsOn: [${dependencies}] }`),
        APP,
        composition(version, "{ name: acme-f }"),
      );
    {
      await using _controller = await startController(server.user(USER).kubeconfig, {
        args: [
          "--leader-election --enable-composition-functions --enable-packages --enable-function-runtimes --enable-usages",
          `--function-substrate Deployment --admission-webhook xfn-webhook --insecure-registry ${host}`,
          `--namespace ${NAMESPACE} --poll-interval 2s`,
        ].flatMap((flags) => flags.split(" ")),
      });
      for (const version of ["1", "2", "3"]) {
        await install("Configuration", `acme/app:v${version}.0.0`);
        await healthy("configuration/app");
      }
      for (const what of ["function/acme-f", "provider/acme-p", "configuration/acme-c"]) await healthy(what);
      // The last one changes the runtimes.
      const set = (kind: string, name: string, tag: string, packagePullPolicy: string): Promise<string> => {
        const spec = { package: `${host}/${tag}`, packagePullPolicy };
        return kubectl("patch", kind, name, "--type=merge", "-p", JSON.stringify({ spec }));
      };
      for (const [version, policy] of [
        ["2", "IfNotPresent"],
        ["3", "IfNotPresent"],
        ["3", "Always"],
      ] as const) {
        await set("function", "acme-f", `acme/f:v${version}.0.0`, policy);
        await set("provider", "acme-p", `acme/p:v${version}.0.0`, policy);
        for (const what of ["function/acme-f", "provider/acme-p"]) await healthy(what);
      }
      await apply(USAGES);
      for (const what of ["usage.protection.crossplane.io", "clusterusage", "usage.apiextensions.crossplane.io"])
        await kubectl("wait", what, "--all", "-A", "--for=condition=Ready", "--timeout=60s");
      await kubectl(
        "delete",
        "usages.protection.crossplane.io,clusterusages,usages.apiextensions.crossplane.io",
        "--all",
        "-A",
        "--timeout=60s",
      );
    }
    const objects = RULES.flatMap((path) => objectsOf(readFileSync(join(CHECKOUT, path), "utf8")));
    expect(rightsOf(objects, audit.requests(), RARE)).toEqual({ forbidden: [], unused: [], notRare: [] });
  }, 300_000);
});
