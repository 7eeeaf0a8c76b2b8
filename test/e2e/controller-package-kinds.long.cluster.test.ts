import { installCrds } from "@xfn/controller";
import type { JsonObject } from "@xfn/json";
import { connect, loadKubeconfig } from "@xfn/kubernetes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { needs } from "../harness/needs.ts";
import { type Finished, Workspace } from "../harness/workspace.ts";

// The kinds of packages on an API server: manifests for Crossplane apply unchanged, and xfn xpkg writes them.

const DIGEST = `sha256:${"a".repeat(64)}`;

/** Every field that a user of Crossplane can write. */
const MANIFESTS = `
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata: { name: provider-cloud }
spec:
  package: xpkg.example.org/acme/provider-cloud:v1.2.3
  packagePullPolicy: Always
  packagePullSecrets: [{ name: registry-credentials }]
  revisionActivationPolicy: Manual
  revisionHistoryLimit: 3
  ignoreCrossplaneConstraints: true
  skipDependencyResolution: true
  commonLabels: { team: platform }
  commonAnnotations: { example.org/owner: ada }
  runtimeConfigRef: { name: small }
---
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata: { name: provider-short }
spec: { package: "xpkg.example.org/acme/provider-short@${DIGEST}" }
---
apiVersion: pkg.crossplane.io/v1
kind: Configuration
metadata: { name: platform }
spec: { package: "xpkg.example.org:5000/acme/platform:v0.1.0" }
---
apiVersion: pkg.crossplane.io/v1beta1
kind: Function
metadata: { name: function-ready }
spec: { package: "xpkg.example.org/acme/function-ready:v0.1.0@${DIGEST}" }
---
apiVersion: pkg.crossplane.io/v1
kind: ProviderRevision
metadata: { name: provider-cloud-0123456789ab, labels: { pkg.crossplane.io/package: provider-cloud } }
spec:
  desiredState: Active
  image: xpkg.example.org/acme/provider-cloud:v1.2.3
  revision: 1
  tlsServerSecretName: provider-cloud-tls-server
  tlsClientSecretName: provider-cloud-tls-client
---
apiVersion: pkg.crossplane.io/v1
kind: ConfigurationRevision
metadata: { name: platform-0123456789ab, labels: { pkg.crossplane.io/package: platform } }
spec: { desiredState: Inactive, image: "xpkg.example.org/acme/platform:v0.1.0", revision: 2 }
---
apiVersion: pkg.crossplane.io/v1beta1
kind: Lock
metadata: { name: lock }
packages:
- apiVersion: pkg.crossplane.io/v1
  kind: Configuration
  name: platform-0123456789ab
  source: xpkg.example.org/acme/platform
  version: v0.1.0
  dependencies:
  - { apiVersion: pkg.crossplane.io/v1, kind: Provider, package: xpkg.example.org/acme/provider-cloud, constraints: ">=v1" }
  - { type: Function, package: xpkg.example.org/acme/function-ready, constraints: "${DIGEST}" }
---
apiVersion: pkg.crossplane.io/v1beta1
kind: ImageConfig
metadata: { name: acme }
spec:
  matchImages:
  - { type: Prefix, prefix: xpkg.example.org/acme }
  registry: { authentication: { pullSecretRef: { name: registry-credentials } } }
  rewriteImage: { prefix: mirror.example.org/acme }
  runtime: { configRef: { name: small } }
  verification:
    provider: Cosign
    cosign:
      authorities:
      - name: acme
        key: { hashAlgorithm: sha512, secretRef: { name: cosign, key: cosign.pub } }
        attestations: [{ name: sbom, predicateType: spdxjson }]
      - name: ci
        keyless:
          insecureIgnoreSCT: true
          identities: [{ issuer: "https://ci.example.org", subjectRegExp: "https://example.org/.*" }]
---
apiVersion: pkg.crossplane.io/v1beta1
kind: DeploymentRuntimeConfig
metadata: { name: small }
spec:
  deploymentTemplate:
    metadata: { labels: { size: small } }
    spec:
      replicas: 2
      selector: {}
      strategy: { type: Recreate }
      template:
        metadata: { annotations: { example.org/scrape: "true" } }
        spec:
          nodeSelector: { disk: fast }
          containers:
          - name: package-runtime
            args: [--debug]
            env: [{ name: REGION, valueFrom: { secretKeyRef: { name: cloud, key: region } } }]
            resources: { limits: { memory: 64Mi } }
  serviceTemplate: { metadata: { name: provider-cloud } }
  serviceAccountTemplate: { metadata: { name: provider-cloud, annotations: { example.org/role: cloud } } }
`;

describe("the kinds of packages", needs("api-server"), () => {
  let server: TestApiServer;
  let workspace: Workspace;

  beforeAll(async () => {
    workspace = await Workspace.create();
    server = await startApiServer();
    const access = await loadKubeconfig({ path: server.admin.kubeconfig });
    const client = await connect({ access, fieldManager: "test" });
    await installCrds(client, { packages: true });
    await client.close();
    await apply(MANIFESTS);
  });
  afterAll(async () => {
    await server?.stop();
    await workspace?.[Symbol.asyncDispose]();
  });

  const apply = (yaml: string): Promise<string> =>
    server.kubectl(["apply", "--validate=strict", "-f", "-"], { input: yaml });
  const get = async (...args: readonly string[]): Promise<string> => await server.kubectl(["get", ...args]);
  const specOf = async (kind: string, name: string): Promise<JsonObject> =>
    (JSON.parse(await get(kind, name, "-o", "json")) as { spec: JsonObject }).spec;

  test("apply with all fields, and again without a change", async () => {
    const again = (await apply(MANIFESTS)).trim().split("\n");
    expect(again).toHaveLength(9);
    expect(again.filter((line) => !line.endsWith(" unchanged"))).toEqual([]);
    expect(await specOf("imageconfig", "acme")).toMatchObject({
      runtime: { configRef: { apiVersion: "pkg.crossplane.io/v1beta1", kind: "DeploymentRuntimeConfig" } },
    });
    expect(await specOf("deploymentruntimeconfig", "small")).toMatchObject({
      deploymentTemplate: { spec: { template: { spec: { containers: [{ env: [{ name: "REGION" }] }] } } } },
    });
  });

  test("have Crossplane's defaults", async () => {
    const shared = {
      packagePullPolicy: "IfNotPresent",
      revisionActivationPolicy: "Automatic",
      revisionHistoryLimit: 1,
      ignoreCrossplaneConstraints: false,
      skipDependencyResolution: false,
    };
    const runtimeConfigRef = {
      apiVersion: "pkg.crossplane.io/v1beta1",
      kind: "DeploymentRuntimeConfig",
      name: "default",
    };
    expect(await specOf("provider", "provider-short")).toEqual({
      package: `xpkg.example.org/acme/provider-short@${DIGEST}`,
      ...shared,
      runtimeConfigRef,
    });
    expect(await specOf("configuration", "platform")).toEqual({
      package: "xpkg.example.org:5000/acme/platform:v0.1.0",
      ...shared,
    });
    expect(await specOf("function", "function-ready")).toMatchObject({ ...shared, runtimeConfigRef });
    expect(await specOf("providerrevision", "provider-cloud-0123456789ab")).toMatchObject({ runtimeConfigRef });
    await apply(
      "apiVersion: pkg.crossplane.io/v1beta1\nkind: ImageConfig\nmetadata: {name: plain}\nspec: {matchImages: [{prefix: a}]}\n",
    );
    expect(await specOf("imageconfig", "plain")).toEqual({ matchImages: [{ prefix: "a", type: "Prefix" }] });
  });

  test("refuse a regular expression that is none", async () => {
    const identity = (subjectRegExp: string): string => `apiVersion: pkg.crossplane.io/v1beta1
kind: ImageConfig
metadata: { name: keyless }
spec:
  matchImages: [{ prefix: a }]
  verification:
    provider: Cosign
    cosign: { authorities: [{ name: a, keyless: { identities: [{ issuer: i, subjectRegExp: "${subjectRegExp}" }] } }] }
`;
    await expect(apply(identity("(acme"))).rejects.toThrow("keyless.identities[0].subjectRegExp");
    await apply(identity("acme/(a|b).*"));
  });

  test("have Crossplane's columns and categories", async () => {
    const columns = async (...args: string[]): Promise<string> =>
      (await get(...args)).split("\n")[0]?.replaceAll(/ +/g, " ").trim() ?? "";
    expect(await columns("providers")).toBe("NAME INSTALLED HEALTHY PACKAGE AGE");
    expect(await columns("configurations")).toBe("NAME INSTALLED HEALTHY PACKAGE AGE");
    expect(await columns("providerrevisions", "-o", "wide")).toBe(
      "NAME HEALTHY RUNTIME-HEALTHY RUNTIME-ACTIVE IMAGE STATE AGE REVISION DEP-FOUND DEP-INSTALLED",
    );
    expect(await columns("configurationrevisions", "-o", "wide")).toBe(
      "NAME HEALTHY IMAGE STATE AGE REVISION DEP-FOUND DEP-INSTALLED",
    );
    expect(await columns("locks")).toBe("NAME AGE");
    const names = async (category: string): Promise<string[]> => (await get(category, "-o", "name")).trim().split("\n");
    expect(await names("pkg")).toEqual([
      "configuration.pkg.crossplane.io/platform",
      "function.pkg.crossplane.io/function-ready",
      "provider.pkg.crossplane.io/provider-cloud",
      "provider.pkg.crossplane.io/provider-short",
    ]);
    expect(await names("pkgrev")).toHaveLength(2);
  });

  test.each([
    ["a package without a registry", "kind: Provider", 'spec: { package: "acme/provider:v1" }', "fully qualified"],
    ["a package without a version", "kind: Configuration", 'spec: { package: "a.example/b" }', "fully qualified"],
    [
      "a negative limit",
      "kind: Provider",
      'spec: { package: "a.example/b:v1", revisionHistoryLimit: -1 }',
      "revisionHistoryLimit",
    ],
    ["an unknown field", "kind: Provider", 'spec: { package: "a.example/b:v1", pkg: x }', "spec.pkg"],
    [
      "a configuration with a runtime",
      "kind: Configuration",
      'spec: { package: "a.example/b:v1", runtimeConfigRef: {name: x} }',
      "runtimeConfigRef",
    ],
    ["an ImageConfig without images", "kind: ImageConfig", "spec: { matchImages: [] }", "matchImages"],
    [
      "an unknown provider of signatures",
      "kind: ImageConfig",
      "spec: { matchImages: [{prefix: a}], verification: {provider: x} }",
      "Cosign",
    ],
    [
      "a dependency without constraints",
      "kind: Lock",
      "packages: [{name: a, source: b, version: c, dependencies: [{package: d}]}]",
      "constraints",
    ],
    [
      "a pod without containers",
      "kind: DeploymentRuntimeConfig",
      "spec: { deploymentTemplate: { spec: { selector: {}, template: { spec: {} } } } }",
      "containers",
    ],
  ])("refuse %s", async (_, kind, spec, message) => {
    const version = /Provider|Configuration/.test(kind) ? "v1" : "v1beta1";
    const yaml = `apiVersion: pkg.crossplane.io/${version}\n${kind}\nmetadata: { name: wrong }\n${spec}\n`;
    await expect(apply(yaml)).rejects.toThrow(message);
  });

  describe("written by xfn xpkg", () => {
    const xpkgAt = (cluster: TestApiServer, ...args: string[]): Promise<Finished> =>
      workspace.xfn(["xpkg", ...args, "--kubeconfig", cluster.admin.kubeconfig]);
    const xpkg = (...args: string[]): Promise<Finished> => xpkgAt(server, ...args);
    const SOURCE = "xpkg.example.org/acme/provider-new";

    /** Does what a controller of packages does. */
    async function settle(name: string, reference: string, healthy: "False" | "True"): Promise<void> {
      const generation = Number(await get("provider", name, "-o", "jsonpath={.metadata.generation}"));
      const at = { lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: generation, message: "a reason" };
      const conditions = [
        { type: "Installed", status: "True", reason: "ActivePackageRevision", ...at },
        { type: "Healthy", status: healthy, reason: "SomeReason", ...at },
      ];
      const patch = JSON.stringify({ status: { conditions, currentIdentifier: reference } });
      await server.kubectl(["patch", "provider", name, "--subresource=status", "--type=merge", "-p", patch]);
    }

    test("install creates an object with what the flags say", async () => {
      const flags = ["-m", "-r", "4", "--package-pull-secrets", "a,b", "--runtime-config", "small"];
      expect(await xpkg("install", "provider", `${SOURCE}:v1.0.0`, ...flags)).toMatchObject({
        code: 0,
        stdout: "provider/acme-provider-new created\n",
        stderr: "",
      });
      expect(await specOf("provider", "acme-provider-new")).toMatchObject({
        package: `${SOURCE}:v1.0.0`,
        revisionActivationPolicy: "Manual",
        revisionHistoryLimit: 4,
        packagePullSecrets: [{ name: "a" }, { name: "b" }],
        runtimeConfigRef: { name: "small" },
      });
    });

    test("install does not change an object that is there", async () => {
      const { code, stdout, stderr } = await xpkg("install", "provider", `${SOURCE}:v9.0.0`, "provider-cloud");
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toContain("provider/provider-cloud exists already");
      expect(stderr).toContain(`xfn xpkg update provider ${SOURCE}:v9.0.0 provider-cloud`);
      expect(await specOf("provider", "provider-cloud")).toMatchObject({ revisionHistoryLimit: 3 });
    });

    test("update changes the package only, and waits until the new one is healthy", async () => {
      await apply(
        `apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: up}\nspec: {package: "${SOURCE}:v1.0.0", revisionHistoryLimit: 7}\n`,
      );
      await settle("up", `${SOURCE}:v1.0.0`, "True");
      const early = await xpkg("update", "provider", `${SOURCE}:v1.1.0`, "up", "--wait", "1ms");
      expect(early).toMatchObject({ code: 1, stdout: "" });
      expect(early.stderr).toContain("provider/up is not healthy yet");
      const running = xpkg("update", "provider", `${SOURCE}:v1.2.0`, "up", "--wait", "4m");
      await expect
        .poll(() => specOf("provider", "up"))
        .toMatchObject({
          package: `${SOURCE}:v1.2.0`,
          revisionHistoryLimit: 7,
        });
      await settle("up", `${SOURCE}:v1.2.0`, "True");
      expect(await running).toMatchObject({ code: 0, stdout: "provider/up updated\n" });
    });

    test("a package that does not get healthy is exit code 1, with its conditions", async () => {
      await apply(
        `apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: ill}\nspec: {package: "${SOURCE}:v1.0.0"}\n`,
      );
      await settle("ill", `${SOURCE}:v1.0.0`, "False");
      const { code, stderr } = await xpkg("update", "provider", `${SOURCE}:v1.0.0`, "ill", "-w", "1ms");
      expect(code).toBe(1);
      expect(stderr).toContain("Healthy=False (SomeReason: a reason)");
    });

    test("update of an object that is not there names the way", async () => {
      const { code, stderr } = await xpkg("update", "function", "a.example/b/c:v1");
      expect(code).toBe(1);
      expect(stderr).toContain("there is no function/b-c");
      expect(stderr).toContain("xfn xpkg install function a.example/b/c:v1 b-c");
    });

    test("a server without packages says so", async () => {
      await using empty = await startApiServer();
      const { code, stderr } = await xpkgAt(empty, "install", "function", "a.example/b/c:v1");
      expect(code).toBe(1);
      expect(stderr).toContain("--enable-packages");
    });
  });
});
