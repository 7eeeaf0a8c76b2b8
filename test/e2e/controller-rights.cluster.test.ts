import { readFileSync } from "node:fs";
import { join } from "node:path";
import { controllerCrds } from "@xfn/controller";
import { type JsonObject, listAt, objectsAt } from "@xfn/json";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type AuditLog, auditLog } from "../harness/audit-log.ts";
import { startController } from "../harness/controller-program.ts";
import { objectsOf } from "../harness/helm.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { PATIENCE } from "../harness/patience.ts";
import { NAMESPACE, rightsOf } from "../harness/rights.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

// The rights of deploy/ and of the chart, which has the same rules, are those that the controller uses: nothing is
// forbidden, and each right is used, by the audit log of an API server.

const USER = "controller";
const RULES = ["deploy/base/rbac.yaml", "deploy/resource-composition/rbac.yaml"];

const OWNERS = "the admission plugin OwnerReferencesPermissionEnforcement, which this server lacks";
const PULL_SECRETS = "functions with pull secrets";
/** Rights without a request in this test, with their use. */
const RARE: Readonly<Record<string, string>> = {
  "get environmentconfigs.apiextensions.crossplane.io": "functions that require one by its name",
  "get compositionrevisions.apiextensions.crossplane.io": "a revision that another installation left behind",
  "patch compositionrevisions.apiextensions.crossplane.io/status": "--enable-rollouts, --enable-function-runtimes",
  "get namespaces": "an account that has lost its rights in a namespace that is being deleted",
  [`list secrets in ${NAMESPACE}`]: PULL_SECRETS,
  [`watch secrets in ${NAMESPACE}`]: PULL_SECRETS,
  [`get serviceaccounts in ${NAMESPACE}`]: PULL_SECRETS,
  [`list serviceaccounts in ${NAMESPACE}`]: PULL_SECRETS,
  [`watch serviceaccounts in ${NAMESPACE}`]: PULL_SECRETS,
  "update compositeresourcedefinitions.apiextensions.crossplane.io/finalizers": OWNERS,
  "update compositions.apiextensions.crossplane.io/finalizers": OWNERS,
  "update infrastructuredefinitions.apiextensions.crossplane.io/finalizers": OWNERS,
  "update applicationdefinitions.apiextensions.crossplane.io/finalizers": OWNERS,
  "update infrastructurepublications.apiextensions.crossplane.io/finalizers": OWNERS,
};

const anything = "{ type: object, x-kubernetes-preserve-unknown-fields: true }";
const SCHEMA = `{ openAPIV3Schema: { type: object, properties: { spec: ${anything}, status: ${anything} } } }`;

/** A claim of it has a connection secret, which a template sets. */
const DEFINITIONS = `
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: { name: xpostgresqlinstances.database.example.org }
spec:
  group: database.example.org
  names: { kind: XPostgreSQLInstance, plural: xpostgresqlinstances }
  claimNames: { kind: PostgreSQLInstance, plural: postgresqlinstances }
  connectionSecretKeys: [endpoint]
  versions: [{ name: v1alpha1, served: true, referenceable: true, schema: ${SCHEMA} }]
`;

const composition = (endpoint: string): string => `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: postgresql }
spec:
  compositeTypeRef: { apiVersion: database.example.org/v1alpha1, kind: XPostgreSQLInstance }
  writeConnectionSecretsToNamespace: ${NAMESPACE}
  environment: { environmentConfigs: [{ type: Reference, ref: { name: zone } }] }
  resources:
    - name: server
      base: { apiVersion: nop.crossplane.io/v1alpha1, kind: NopResource, spec: { forProvider: { fields: {} } } }
      readinessChecks: [{ type: None }]
      connectionDetails: [{ type: FromValue, name: endpoint, value: "${endpoint}" }]
`;

const ENVIRONMENT = `
apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata: { name: zone }
data: {}
`;

const INSTANCES = `
apiVersion: database.example.org/v1alpha1
kind: PostgreSQLInstance
metadata: { name: shop, namespace: default }
spec: { writeConnectionSecretToRef: { name: shop } }
`;

const KINDS = ["infrastructuredefinitions", "infrastructurepublications", "applicationdefinitions"] as const;
const crdSpec = (kind: string): string =>
  `{ group: apps.example.org, version: v1alpha1, names: { kind: ${kind}, plural: ${kind.toLowerCase()}s } }`;
const RESOURCE_COMPOSITION = `
apiVersion: apiextensions.crossplane.io/v1alpha1
kind: InfrastructureDefinition
metadata: { name: caches.apps.example.org }
spec: { crdSpecTemplate: ${crdSpec("Cache")} }
---
apiVersion: apiextensions.crossplane.io/v1alpha1
kind: InfrastructurePublication
metadata: { name: caches.apps.example.org }
spec: { infrastructureDefinitionReference: { name: caches.apps.example.org } }
---
apiVersion: apiextensions.crossplane.io/v1alpha1
kind: ApplicationDefinition
metadata: { name: shops.apps.example.org }
spec: { crdSpecTemplate: ${crdSpec("Shop")} }
`;

/** The instances of these definitions. */
const APPS_ROLE = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: apps, labels: { rbac.crossplane.io/aggregate-to-crossplane: "true" } }
rules: [{ apiGroups: [apps.example.org], resources: ["*"], verbs: [get, list, watch, create, update, patch, delete] }]
`;

test("name each CRD whose objects may be stored in another version", () => {
  const all = controllerCrds({ packages: true, functionRuntimes: true, resourceComposition: true, usages: true });
  const versioned = all
    .filter((crd) => listAt(crd, "spec", "versions").length > 1)
    .map(({ metadata }) => metadata?.name);
  const named = ["base", "packages", "usages"].flatMap((folder) =>
    objectsOf(readFileSync(join(CHECKOUT, "deploy", folder, "rbac.yaml"), "utf8"))
      .flatMap((object) => objectsAt(object, "rules"))
      .filter((rule) => listAt(rule, "resources").includes("customresourcedefinitions/status"))
      .flatMap((rule) => listAt(rule, "resourceNames")),
  );
  expect(named.toSorted()).toEqual(versioned.toSorted());
});

describe("the rights of the controller", needs("api-server"), () => {
  let server: TestApiServer;
  let audit: AuditLog;

  beforeAll(async () => {
    audit = auditLog(temporaryFolder(), USER);
    server = await startApiServer({ users: [USER], arguments: audit.arguments });
    await server.kubectl(["create", "namespace", NAMESPACE]);
  });
  afterAll(() => server?.stop());

  const kubectl = (...args: readonly string[]): Promise<string> => server.kubectl(args);
  const apply = (input: string): Promise<string> => server.kubectl(["apply", "-f", "-"], { input });
  const endpoint = async (): Promise<string> =>
    Buffer.from(
      await kubectl("get", "secret", "shop", "-o", "jsonpath={.data.endpoint}").catch(() => ""),
      "base64",
    ).toString("utf8");

  test("are enough for a definition with claims, and each of them is used", async () => {
    const objects = RULES.flatMap((path) => objectsOf(readFileSync(join(CHECKOUT, path), "utf8")));
    for (const path of RULES) await kubectl("apply", "-f", join(CHECKOUT, path));
    await kubectl("apply", "-f", join(CHECKOUT, "examples/controller/roles.yaml"));
    await kubectl("apply", "-f", join(CHECKOUT, "examples/provider-nop/crd.yaml"));
    await apply(APPS_ROLE);
    // CRDs that store another version than the controller's, as after a change of it.
    for (const crd of controllerCrds()) {
      const { versions } = crd["spec"] as { versions: JsonObject[] };
      for (const [index, version] of versions.entries()) version["storage"] = index === versions.length - 1;
      if (versions.length > 1) await server.apply(crd);
    }
    await expect.poll(() => apply(ENVIRONMENT).catch(String), PATIENCE).toContain("applied");
    await kubectl("create", "clusterrolebinding", "test", "--clusterrole=xfn-controller", `--user=${USER}`);
    await kubectl("create", "rolebinding", "test", "-n", NAMESPACE, "--role=xfn-controller", `--user=${USER}`);
    // A controller of Kubernetes aggregates the roles with the label.
    const may = async (): Promise<string> =>
      (await kubectl("auth", "can-i", "create", "nopresources.nop.crossplane.io", "--as", USER).catch(() => "")).trim();
    await expect.poll(may, PATIENCE).toBe("yes");
    {
      await using _controller = await startController(server.user(USER).kubeconfig, {
        args: ["--leader-election", "--namespace", NAMESPACE, "--enable-resource-composition"],
      });
      await apply(DEFINITIONS);
      await kubectl("wait", "xrd", "--all", "--for=condition=Offered", "--timeout=60s");
      await apply(composition("first"));
      await apply(INSTANCES);
      const stored = (): Promise<string> => kubectl("get", "crds", "-o", "jsonpath={..storedVersions}");
      await expect.poll(stored, PATIENCE).not.toContain(",");
      await expect.poll(endpoint, PATIENCE).toBe("first");
      // A new revision, the first one again, and changed connection secrets.
      for (const next of ["second", "first"]) {
        await apply(composition(next));
        await expect.poll(endpoint, PATIENCE).toBe(next);
      }
      await apply(RESOURCE_COMPOSITION);
      const [infrastructure, publication, application] = KINDS;
      for (const kind of [infrastructure, application])
        await kubectl("wait", kind, "--all", "--for=condition=Established", "--timeout=60s");
      await kubectl("wait", publication, "--all", "--for=condition=Offered", "--timeout=60s");
      for (const kind of [publication, infrastructure, application])
        await kubectl("delete", kind, "--all", "--timeout=60s");
      await kubectl("delete", "postgresqlinstance", "shop", "--timeout=60s");
      await kubectl("delete", "composition", "postgresql", "--timeout=60s");
      await kubectl("delete", "xrd", "--all", "--timeout=60s");
    }
    expect(rightsOf(objects, audit.requests(), RARE)).toEqual({ forbidden: [], unused: [], notRare: [] });
  });
});
