import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { LiveObject } from "@xfn/kubernetes";
import { copyImage } from "@xfn/oci-rootfs/registry";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { definitionYaml } from "../harness/definition-yaml.ts";
import { buildGrpcImage } from "../harness/grpc-function.ts";
import { needs } from "../harness/needs.ts";
import { type PackageCluster, startPackageCluster } from "../harness/package-cluster.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { REGISTRY_PASSWORD, REGISTRY_USER, startRegistry, type TestRegistry } from "../harness/registry.ts";
import { storeOf } from "../harness/shell-function.ts";
import { attachSignatures, simpleSignature } from "../harness/signatures.ts";

// Configurations and Providers as packages: their objects, their dependencies, and ImageConfigs.

const meta = (kind: string, spec = "{}"): string =>
  `apiVersion: meta.pkg.crossplane.io/v1\nkind: ${kind}\nmetadata: { name: mine }\nspec: ${spec}\n`;

const definition = (group: string): string => definitionYaml("XThing", { group, spec: "{ type: object }" });

const composition = (name: string, group: string, value = "a"): string => `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: ${name} }
spec:
  compositeTypeRef: { apiVersion: ${group}/v1, kind: XThing }
  resources:
    - name: settings
      base: { apiVersion: v1, kind: ConfigMap, metadata: { namespace: default }, data: { value: ${value} } }
`;

const crd = (group: string): string => `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: buckets.${group} }
spec:
  group: ${group}
  scope: Cluster
  names: { kind: Bucket, plural: buckets }
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }]
`;

const stream = (...documents: readonly string[]): string => documents.join("---\n");

const NEEDS = needs("api-server", "docker-registry", "crun");

describe("xfn-controller installs Configurations", NEEDS, () => {
  let cluster: PackageCluster;
  let closed: TestRegistry;

  beforeAll(async () => {
    closed = await startRegistry({ auth: true });
    cluster = await startPackageCluster({
      controller: ["--poll-interval", "2s"],
      access: () => ["--insecure-registry", closed.host],
      groups: ["app.org", "thief.org", "private.org", "bad.org", "used.org"],
    });
  }, 300_000);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await closed?.stop();
  });

  const get = (...args: readonly string[]): Promise<string> => cluster.get(...args);
  const kubectl = (...args: readonly string[]): Promise<string> => cluster.server.kubectl(args);
  let built = 0;
  /** Publishes a package with this content. @param to such as `acme/app:v1.0.0` */
  const publish = async (to: string, content: string): Promise<void> => {
    const name = await buildGrpcImage(cluster.workspace, { name: `package-${(built += 1)}`, packageFile: content });
    await cluster.publish(name, to);
  };
  const install = (kind: string, name: string, to: string, spec: object = {}): Promise<string> =>
    cluster.apply(
      JSON.stringify({
        apiVersion: "pkg.crossplane.io/v1",
        kind,
        metadata: { name },
        spec: { package: `${cluster.registry.host}/${to}`, ...spec },
      }),
    );
  const healthy = (what: string): Promise<string> => kubectl("wait", what, "--for=condition=Healthy", "--timeout=60s");
  const message = (what: string, type = "Healthy"): Promise<string> =>
    get(what, "-o", `jsonpath={.status.conditions[?(@.type=='${type}')].message}`);
  const owners = async (what: string): Promise<string[]> => {
    const path = "{range .metadata.ownerReferences[*]}{.kind} {.controller}{'\\n'}{end}";
    return (await get(what, "-o", `jsonpath=${path}`)).split("\n").map((line) => line.trim());
  };
  const valueOf = (name: string): Promise<string> =>
    get("composition", name, "-o", "jsonpath={.spec.resources[0].base.data.value}");
  const states = async (): Promise<string[]> => {
    const path = '{range .items[*]}{.spec.image} {.spec.desiredState}{"\\n"}{end}';
    const lines = (await get("configurationrevisions", "-o", `jsonpath=${path}`)).split("\n").filter(Boolean);
    return lines.map((line) => line.replace(/^.*?\/(.*)@sha256:\S+/, "$1")).toSorted();
  };
  const poll: typeof expect.poll = (what, options) => expect.poll(what, { timeout: 60_000, ...options });

  test("with the function that it depends on", async () => {
    const { host } = cluster.registry;
    const wants = `{ dependsOn: [{ function: ${host}/fns/ready, version: ">=v1.0.0, <v2" }] }`;
    for (const tag of ["v0.9.0", "v1.0.0", "v1.2.0", "v2.0.0"]) await publish(`fns/ready:${tag}`, meta("Function"));
    const app = (version: string, ...more: readonly string[]): Promise<void> =>
      publish(
        `acme/app:${version}`,
        stream(meta("Configuration", wants), definition("app.org"), composition("app", "app.org", version), ...more),
      );
    await app("v1.0.0", composition("app-extra", "app.org"));
    await app("v2.0.0");
    await install("Configuration", "app", "acme/app:v1.0.0");
    await healthy("configuration/app");
    await kubectl("wait", "configuration/app", "--for=condition=Installed", "--timeout=60s");
    await kubectl("wait", "xrd/xthings.app.org", "--for=condition=Established", "--timeout=60s");
    expect(await get("function", "fns-ready", "-o", "jsonpath={.spec.package}")).toBe(`${host}/fns/ready:v1.2.0`);
    await healthy("function/fns-ready");
    expect(await get("lock", "lock", "-o", "jsonpath={.packages[*].source}")).toBe(
      `${host}/acme/app ${host}/fns/ready`,
    );
    expect(await owners("composition/app")).toEqual(["Configuration false", "ConfigurationRevision true"]);
    const counts = "jsonpath={.items[0].status.foundDependencies} {.items[0].status.installedDependencies}";
    expect(await get("configurationrevisions", "-o", counts)).toBe("1 1");
  });

  test("and keeps their objects through an upgrade and a rollback", async () => {
    const uid = (): Promise<string> => get("xrd", "xthings.app.org", "-o", "jsonpath={.metadata.uid}");
    const before = await uid();
    await install("Configuration", "app", "acme/app:v2.0.0");
    await poll(() => valueOf("app")).toBe("v2.0.0");
    await poll(states).toEqual(["acme/app:v1.0.0 Inactive", "acme/app:v2.0.0 Active"]);
    expect(await owners("composition/app")).toEqual([
      "ConfigurationRevision false",
      "Configuration false",
      "ConfigurationRevision true",
    ]);
    // Only the older version has it, and nothing controls it any more.
    await poll(() => owners("composition/app-extra")).not.toContain("ConfigurationRevision true");
    await install("Configuration", "app", "acme/app:v1.0.0");
    await poll(() => valueOf("app")).toBe("v1.0.0");
    await poll(states).toEqual(["acme/app:v1.0.0 Active", "acme/app:v2.0.0 Inactive"]);
    await poll(() => owners("composition/app-extra")).toContain("ConfigurationRevision true");
    expect(await uid()).toBe(before);
    expect(await get("lock", "lock", "-o", "jsonpath={.packages[*].version}")).toBe("v1.0.0 v1.2.0");
  });

  test("and restores an object that a user deletes", async () => {
    await kubectl("delete", "composition", "app", "--timeout=60s");
    await poll(() => valueOf("app").catch(() => "")).toBe("v1.0.0");
    await healthy("configuration/app");
  });

  test("and changes their labels with the package's", async () => {
    const team = (): Promise<string> => get("composition", "app", "-o", "jsonpath={.metadata.labels.team}");
    const label = (commonLabels: object | null): Promise<string> =>
      kubectl("patch", "configuration/app", "--type=merge", "-p", JSON.stringify({ spec: { commonLabels } }));
    await label({ team: "a" });
    await poll(team).toBe("a");
    await label(null);
    await poll(team).toBe("");
  });

  test("and activates a revision when the user says so", async () => {
    await install("Configuration", "app", "acme/app:v2.0.0", { revisionActivationPolicy: "Manual" });
    await poll(() => message("configuration/app", "Installed")).toContain("set its spec.desiredState to Active");
    expect(await valueOf("app")).toBe("v1.0.0");
    const path = "{range .items[?(@.spec.desiredState=='Inactive')]}{.metadata.name}{end}";
    const name = await get("configurationrevisions", "-o", `jsonpath=${path}`);
    const active = await get("configurationrevisions", "-o", `jsonpath=${path.replace("Inactive", "Active")}`);
    const patch = (revision: string, body: object, ...more: readonly string[]): Promise<string> =>
      kubectl("patch", "configurationrevision", revision, "--type=merge", "-p", JSON.stringify(body), ...more);
    const paused = (value: "true" | null): object => ({ annotations: { "crossplane.io/paused": value } });
    // The older revision gives up no object, and the new one still names its own from the time before the rollback.
    await patch(active, { metadata: paused("true") });
    await patch(name, { metadata: paused("true") });
    const app = { apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition", name: "app" };
    await patch(name, { status: { objectRefs: [app] } }, "--subresource=status");
    await patch(name, { metadata: paused(null), spec: { desiredState: "Active" } });
    await poll(() => valueOf("app")).toBe("v2.0.0");
    await patch(active, { metadata: paused(null) });
    await poll(states).toEqual(["acme/app:v1.0.0 Inactive", "acme/app:v2.0.0 Active"]);
  });

  test("but takes over no object of another owner, and then writes nothing", async () => {
    await publish(
      "acme/thief:v1.0.0",
      stream(meta("Configuration"), definition("thief.org"), composition("app", "app.org", "stolen")),
    );
    await install("Configuration", "thief", "acme/thief:v1.0.0");
    await poll(() => message("configuration/thief")).toMatch(
      /cannot take over objects that another owner controls: Composition app of the ConfigurationRevision app-\w+; remove/,
    );
    expect(await get("xrd", "-o", "name")).not.toContain("thief.org");
    expect(await valueOf("app")).toBe("v2.0.0");
    await kubectl("delete", "configuration/thief", "--timeout=60s");
  });

  test.each([
    ["another kind", meta("Provider"), "is a Provider and not a Configuration"],
    ["two crossplane.yaml", stream(meta("Configuration"), meta("Configuration")), "has exactly one crossplane.yaml"],
    ["a Secret", stream(meta("Configuration"), "apiVersion: v1\nkind: Secret\nmetadata: { name: a }\n"), "Secret.v1"],
    [
      "another Crossplane",
      meta("Configuration", "{ crossplane: { version: <v1.0.0 } }"),
      "ignoreCrossplaneConstraints",
    ],
    [
      "a definition that the API server rejects",
      stream(meta("Configuration"), definition("bad.org").replace("referenceable: true", "referenceable: 3")),
      "the API server rejects the CompositeResourceDefinition xthings.bad.org",
    ],
    [
      "a kind that is not served",
      stream(
        meta("Configuration"),
        "apiVersion: ops.crossplane.io/v1alpha1\nkind: Operation\nmetadata: { name: a }\nspec: {}\n",
      ),
      "this API server does not serve ops.crossplane.io/v1alpha1",
    ],
  ])("and refuses a package with %s", async (what, content, reason) => {
    const name = what.replaceAll(" ", "-").toLowerCase().replace("secret", "s").slice(0, 20);
    await publish(`bad/${name}:v1.0.0`, content);
    await install("Configuration", name, `bad/${name}:v1.0.0`);
    await poll(() => message(`configuration/${name}`)).toContain(reason);
    await kubectl("delete", `configuration/${name}`, "--timeout=60s");
  });

  test("and says which dependencies cannot be resolved, until they can", async () => {
    const { host } = cluster.registry;
    const needing = (...wants: readonly string[]): string =>
      meta("Configuration", `{ dependsOn: [${wants.map((want) => `{ ${want} }`).join(", ")}] }`);
    await publish("acme/old:v1.0.0", needing(`function: ${host}/fns/ready, version: <v1.0.0`));
    await publish("acme/none:v1.0.0", needing(`provider: ${host}/acme/later, version: ">=v3.0.0"`));
    await publish("acme/left:v1.0.0", needing(`configuration: ${host}/acme/right, version: "*"`));
    await publish("acme/right:v1.0.0", needing(`configuration: ${host}/acme/left, version: "*"`));
    for (const one of ["old", "none", "left"]) await install("Configuration", one, `acme/${one}:v1.0.0`);
    await poll(() => message("configuration/old")).toContain(
      `fns/ready is installed at v1.2.0: ${host}/acme/old wants`,
    );
    await poll(() => message("configuration/none")).toContain(
      `cannot list the versions of the dependency ${host}/acme/later`,
    );
    await poll(() => message("configuration/left")).toContain(
      `${host}/acme/left -> ${host}/acme/right -> ${host}/acme/left`,
    );
    await publish("acme/later:v2.0.0", meta("Provider"));
    await poll(() => message("configuration/none"), { timeout: 120_000 }).toContain("the newest is v2.0.0");
    await publish("acme/later:v3.1.0", meta("Provider"));
    await kubectl("wait", "configuration/none", "--for=condition=Healthy", "--timeout=120s");
    expect(await get("provider", "acme-later", "-o", "jsonpath={.spec.package}")).toBe(`${host}/acme/later:v3.1.0`);
    await install("Configuration", "old", "acme/old:v1.0.0", { skipDependencyResolution: true });
    await healthy("configuration/old");
    // Otherwise each of the two is installed again for the other one.
    await install("Configuration", "acme-right", "acme/right:v1.0.0", { skipDependencyResolution: true });
    await healthy("configuration/left");
    await kubectl("delete", "configurations/old", "configurations/none", "configurations/left", "--timeout=60s");
    await kubectl("delete", "configurations/acme-right", "providers/acme-later", "--timeout=60s");
  }, 400_000);

  test("and the CRDs of a Provider, which nothing runs, without its admission webhooks", async () => {
    const admission =
      "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: { name: all }\n";
    await publish("acme/provider:v1.0.0", stream(meta("Provider"), crd("aws.org"), admission));
    await install("Provider", "provider", "acme/provider:v1.0.0");
    await kubectl("wait", "provider/provider", "--for=condition=Installed", "--timeout=60s");
    await poll(() => message("provider/provider")).toContain("nothing runs the program of the provider");
    await kubectl("wait", "crd/buckets.aws.org", "--for=condition=Established", "--timeout=60s");
    expect(await get("validatingwebhookconfigurations", "-o", "name")).toBe("");
    await kubectl("delete", "provider/provider", "--timeout=60s");
    await poll(() => get("crd", "-o", "name")).not.toContain("buckets.aws.org");
  });

  test("but not the CRD of another owner", async () => {
    const { uid } = (JSON.parse(await get("namespace", "default", "-o", "json")) as LiveObject).metadata;
    const owner = { apiVersion: "v1", kind: "Namespace", name: "default", uid, controller: true };
    await cluster.apply(
      crd("foreign.org").replace("metadata: {", `metadata: { ownerReferences: [${JSON.stringify(owner)}],`),
    );
    await publish("acme/foreign:v1.0.0", stream(meta("Provider"), crd("foreign.org"), crd("mine.org")));
    await install("Provider", "foreign", "acme/foreign:v1.0.0");
    await poll(() => message("provider/foreign")).toMatch(
      /another owner controls: CustomResourceDefinition buckets\.foreign\.org of the Namespace default; remove/,
    );
    expect(await get("crd", "-o", "name")).not.toContain("buckets.mine.org");
    await kubectl("delete", "provider/foreign", "--timeout=60s");
    expect(await get("crd", "-o", "name")).toContain("buckets.foreign.org");
  });

  test("but not a CRD with objects that no package installed, until its owner hands it over", async () => {
    await cluster.apply(crd("used.org"));
    await kubectl("wait", "crd/buckets.used.org", "--for=condition=Established", "--timeout=60s");
    await cluster.apply("apiVersion: used.org/v1\nkind: Bucket\nmetadata: { name: mine }\n");
    await publish("acme/used:v1.0.0", stream(meta("Provider"), crd("used.org"), crd("mine.org")));
    await install("Provider", "used", "acme/used:v1.0.0");
    await poll(() => message("provider/used")).toMatch(
      /cannot adopt .* CustomResourceDefinition buckets\.used\.org, because there are objects of the kind Bucket/,
    );
    expect(await get("crd", "-o", "name")).not.toContain("buckets.mine.org");
    await kubectl("label", "crd/buckets.used.org", "pkg.crossplane.io/package=used");
    await poll(() => owners("crd/buckets.used.org")).toEqual([
      "ManagedResourceDefinition false",
      "ProviderRevision true",
    ]);
    expect(await get("buckets.used.org", "-o", "name")).toContain("/mine");
    await kubectl("delete", "provider/used", "--timeout=60s");
    await poll(() => get("crd", "-o", "name")).not.toContain("buckets.used.org");
  });

  test.each([
    ["a CRD of the controller", crd("pkg.crossplane.io"), "pkg.crossplane.io belongs to the controller"],
    ["a CRD of Kubernetes", crd("admissionregistration.k8s.io"), "admissionregistration.k8s.io belongs to Kubernetes"],
    [
      "a webhook",
      crd("hook.org").replace(
        "spec:",
        "spec:\n  conversion: { strategy: Webhook, webhook: { conversionReviewVersions: [v1], clientConfig: { url: https://evil.org/ } } }",
      ),
      "converts its objects at https://evil.org/",
    ],
  ])("but not %s", async (what, content, reason) => {
    const name = what.split(" ").at(-1)?.toLowerCase() ?? "";
    await publish(`bad/${name}-crd:v1.0.0`, stream(meta("Function"), content));
    await install("Function", `${name}-crd`, `bad/${name}-crd:v1.0.0`);
    await poll(() => message(`function/${name}-crd`)).toContain(reason);
    expect(await get("crd", "-o", "name")).not.toMatch(/buckets\.(?:pkg|admissionregistration|hook)\./);
    await kubectl("delete", `function/${name}-crd`, "--timeout=60s");
  });

  test("from another registry, with the pull secret that an ImageConfig names", async () => {
    const { host } = cluster.registry;
    await publish("acme/private:v1.0.0", stream(meta("Configuration"), definition("private.org")));
    await copyImage({
      from: `package-${built}`,
      to: `${closed.host}/mirror/private:v1.0.0`,
      store: await storeOf(cluster.workspace),
      insecureRegistries: [closed.host],
      toAuth: { username: REGISTRY_USER, password: REGISTRY_PASSWORD },
    });
    const config = (name: string, prefix: string, spec: object): Promise<string> =>
      cluster.apply(
        JSON.stringify({
          apiVersion: "pkg.crossplane.io/v1beta1",
          kind: "ImageConfig",
          metadata: { name },
          spec: { matchImages: [{ prefix }], ...spec },
        }),
      );
    await config("nowhere", `${host}/acme`, { rewriteImage: { prefix: "127.0.0.1:1/nowhere" } });
    await config("moved", `${host}/acme/private`, { rewriteImage: { prefix: `${closed.host}/mirror/private` } });
    await install("Configuration", "private", "acme/private:v1.0.0");
    await poll(() => message("configuration/private")).toMatch(/as an ImageConfig says: .*spec\.packagePullSecrets/);
    await secret("wrong", "no");
    await config("auth", closed.host, { registry: { authentication: { pullSecretRef: { name: "wrong" } } } });
    await poll(() => message("configuration/private")).toContain("Secret");
    await secret("right", REGISTRY_PASSWORD);
    await config("auth", closed.host, { registry: { authentication: { pullSecretRef: { name: "right" } } } });
    await healthy("configuration/private");
    const applied = "jsonpath={.status.appliedImageConfigRefs[*].name} {.status.resolvedPackage}";
    expect(await get("configuration", "private", "-o", applied)).toMatch(
      new RegExp(`^moved auth ${closed.host}/mirror/private:v1\\.0\\.0$`),
    );
    await kubectl("delete", "imageconfigs", "--all");
    await kubectl("delete", "configuration/private", "--timeout=60s");
  });

  test("with the signature that an ImageConfig requires, of the digest that is installed", async () => {
    const { host } = cluster.registry;
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const access = { insecureRegistries: [host] };
    await cluster.server.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "cosign", namespace: "crossplane-system" },
      stringData: { "cosign.pub": publicKey.export({ type: "spki", format: "pem" }).toString() },
    });
    const key = { secretRef: { name: "cosign", key: "cosign.pub" } };
    await cluster.server.apply({
      apiVersion: "pkg.crossplane.io/v1beta1",
      kind: "ImageConfig",
      metadata: { name: "signed" },
      spec: {
        matchImages: [{ prefix: `${host}/acme/signed` }],
        verification: { provider: "Cosign", cosign: { authorities: [{ name: "acme", key }] } },
      },
    });
    const active = async (): Promise<string> => (await states()).filter((one) => one.includes("signed")).join();
    await publish("acme/signed:v1.0.0", stream(meta("Configuration"), composition("signed", "app.org", "one")));
    await install("Configuration", "signed", "acme/signed:v1.0.0");
    await poll(() => message("configuration/signed")).toMatch(/ImageConfig signed requires .* no signature of/);
    expect(await get("compositions", "-o", "name")).not.toContain("/signed");
    expect(await active()).toBe("");
    const [, first = ""] = /a signature of (\S+@sha256:[0-9a-f]{64})/.exec(await message("configuration/signed")) ?? [];
    await attachSignatures(first, [simpleSignature(first, generateKeyPairSync("ed25519").privateKey)], access);
    await poll(() => message("configuration/signed")).toContain("not signed by a key of the authorities");
    await attachSignatures(first, [simpleSignature(first, privateKey)], access);
    await healthy("configuration/signed");
    // The tag moves to an unsigned package: the digest that was verified stays.
    await publish("acme/signed:v1.0.0", stream(meta("Configuration"), composition("signed", "app.org", "two")));
    await attachSignatures(first, [], access);
    expect(await valueOf("signed")).toBe("one");
    await publish("acme/signed:v1.1.0", stream(meta("Configuration"), composition("signed", "app.org", "three")));
    await install("Configuration", "signed", "acme/signed:v1.1.0");
    await poll(() => message("configuration/signed", "Installed")).toContain("no signature of");
    expect(await valueOf("signed")).toBe("one");
    expect(await active()).toContain("acme/signed:v1.0.0 Active");
  }, 400_000);

  test("and is refused without it under another name of the same registry", async () => {
    const [, port = ""] = cluster.registry.host.split(":");
    const names = [`127.1:${port}`, `0x7f.0.0.1:${port}`].map((host) => `${host}/acme/signed:v1.1.0`);
    for (const [index, spelled] of names.entries()) {
      const name = `spelled-${index}`;
      const spec = { package: spelled };
      await cluster.server.apply({
        apiVersion: "pkg.crossplane.io/v1",
        kind: "Configuration",
        metadata: { name },
        spec,
      });
      await poll(() => message(`configuration/${name}`)).toMatch(/ImageConfig signed requires .* no signature of/);
      await kubectl("delete", `configuration/${name}`, "--timeout=60s");
    }
    await kubectl("delete", "imageconfig/signed", "configuration/signed", "--timeout=60s");
  });

  test("and leaves nothing of a deleted one", async () => {
    await kubectl("delete", "configuration/app", "function/fns-ready", "--timeout=60s");
    await poll(() =>
      get("xrd,compositions,compositionrevisions,configurationrevisions,functionrevisions", "-o", "name"),
    ).toBe("");
    await poll(() => get("lock", "lock", "-o", "jsonpath={.packages}")).toBe("[]");
    expect(await get("crd", "-o", "name")).not.toContain("app.org");
    // The controller has the rights of deploy/packages.
    expect(cluster.forbidden()).toEqual([]);
  });

  test("also if several controllers run, and another one leads once the leader has died", async () => {
    const leads = ["--leader-election", "--lease-duration", "3s"];
    await cluster.stopController();
    const leader = await cluster.another(leads);
    await using next = await cluster.another(leads, { until: "waiting for the lease" });
    const at = async (version: string): Promise<void> => {
      await publish(`acme/app:${version}`, stream(meta("Configuration"), composition("app", "app.org", version)));
      await install("Configuration", "app", `acme/app:${version}`);
      await healthy("configuration/app");
      await poll(() => valueOf("app")).toBe(version);
    };
    const uids = (): Promise<string> =>
      get("compositions,configurationrevisions", "-o", "jsonpath={.items[*].metadata.uid}");
    await at("v3.0.0");
    const first = await uids();
    expect(await leader.end("SIGKILL")).toBe("SIGKILL");
    await next.logged(({ msg }) => msg === "ready");
    await poll(states).toEqual(["acme/app:v3.0.0 Active"]);
    expect(await uids()).toBe(first);
    await at("v3.1.0");
    // Without a lease, both of these work at once.
    await using beside = await cluster.another([]);
    await at("v3.2.0");
    await poll(states).toEqual(["acme/app:v3.1.0 Inactive", "acme/app:v3.2.0 Active"]);
    expect((await uids()).split(" ")).toContain(first.split(" ")[0]);
    const versions = (): Promise<string> =>
      get("compositions,configurations,configurationrevisions", "-o", "jsonpath={.items[*].metadata.resourceVersion}");
    const settled = await versions();
    // Polls are two seconds apart.
    await sleep(5_000);
    expect(await versions()).toBe(settled);
    await kubectl("delete", "configuration/app", "--timeout=60s");
    await poll(() => get("compositions,configurationrevisions", "-o", "name")).toBe("");
    for (const one of [next, beside]) expect(one.log().filter(({ level }) => level === "error")).toEqual([]);
  }, 400_000);

  // https://github.com/crossplane/crossplane, test/e2e/pkg_test.go: the packages of these tests in one chain.
  test("and updates what they depend on, if the operator allows it", async () => {
    const { host } = cluster.registry;
    const source = `${host}/acme/nop`;
    const wanting = (...wants: readonly string[]): string =>
      meta("Configuration", `{ dependsOn: [${wants.join(", ")}] }`);
    const nop = (version: string): string => `{ function: ${source}, version: "${version}" }`;
    for (const tag of ["v0.2.0", "v0.2.1", "v0.3.0", "v0.4.0"]) await publish(`acme/nop:${tag}`, meta("Function"));
    await publish("acme/above:v1.0.0", wanting(nop(">v0.2.0")));
    await publish("acme/inner:v1.0.0", wanting(nop("=v0.3.0")));
    await publish(
      "acme/outer:v1.0.0",
      wanting(nop(">=v0.2.0"), `{ configuration: ${host}/acme/inner, version: v1.0.0 }`),
    );
    await publish("acme/outer:v1.1.0", wanting(nop("=v0.2.0")));
    const role = join(CHECKOUT, "deploy/dependency-updates/rbac.yaml");
    await kubectl("apply", "--server-side", "-f", role);
    const resolved = (): Promise<string> =>
      get("lock", "lock", "-o", "jsonpath={.status.conditions[?(@.type=='Resolved')].reason}");
    const version = async (): Promise<string> =>
      (await get("function", "cool", "-o", "jsonpath={.spec.package}")).replace(source, "");
    await using upgrading = await cluster.another(["--enable-dependency-version-upgrades"]);
    await install("Function", "cool", "acme/nop:v0.2.0");
    await healthy("function/cool");
    await install("Configuration", "above", "acme/above:v1.0.0");
    await healthy("configuration/above");
    expect(await version()).toBe(":v0.2.1");
    await install("Function", "cool", "acme/nop:v0.4.0");
    await install("Configuration", "outer", "acme/outer:v1.0.0");
    await poll(() => message("configuration/acme-inner")).toContain(`set spec.package to ${source}:v0.3.0`);
    await poll(resolved).toBe("DependencyResolutionFailed");
    expect(await version()).toBe(":v0.4.0");
    await upgrading.end("SIGTERM");
    await using downgrading = await cluster.another(["--enable-dependency-version-downgrades"]);
    for (const name of ["acme-inner", "outer"]) await healthy(`configuration/${name}`);
    expect(await version()).toBe(":v0.3.0");
    await poll(resolved).toBe("DependencyResolutionSucceeded");
    await install("Configuration", "outer", "acme/outer:v1.1.0");
    await poll(resolved).toBe("DependencyResolutionFailed");
    await kubectl("delete", "configurations/above", "configurations/acme-inner", "--timeout=60s");
    await healthy("configuration/outer");
    expect(await version()).toBe(":v0.2.0");
    await kubectl("delete", "configuration/outer", "function/cool", "--timeout=60s");
    await poll(() => get("lock", "lock", "-o", "jsonpath={.packages}{.status.conditions}")).toBe("[][]");
    for (const one of [upgrading, downgrading])
      expect(one.log().filter((line) => /forbidden/i.test(JSON.stringify(line)))).toEqual([]);
  }, 200_000);

  const authsOf = (host: string, password: string): string =>
    JSON.stringify({ auths: { [host]: { auth: Buffer.from(`${REGISTRY_USER}:${password}`).toString("base64") } } });
  const secret = (name: string, password: string): Promise<string> =>
    cluster.apply(
      JSON.stringify({
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name, namespace: "crossplane-system" },
        type: "kubernetes.io/dockerconfigjson",
        stringData: { ".dockerconfigjson": authsOf(closed.host, password) },
      }),
    );
});
