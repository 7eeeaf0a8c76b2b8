import { createHash } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { definitionYaml } from "../harness/definition-yaml.ts";
import { buildGoProgram } from "../harness/go-program.ts";
import { buildGrpcImage } from "../harness/grpc-function.ts";
import { needs } from "../harness/needs.ts";
import { type PackageCluster, startPackageCluster } from "../harness/package-cluster.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { refusalOf } from "../harness/pod-security.ts";
import { Pods } from "../harness/pods.ts";

// FunctionRuntimes of Crossplane's design "Controlled Rollout of Composition Functions (v2)", with its own examples. A
// registry on this machine is the mirror of the one that they name.

const REPOSITORY = "crossplane-contrib/function-patch-and-transform";

/** As the design document has it. */
const COMPOSITION = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata:
  name: example
spec:
  compositeTypeRef:
    apiVersion: custom-api.example.org/v1alpha1
    kind: AcmeBucket
  mode: Pipeline
  pipeline:
  - step: patch-and-transform
    functionRef:
      package: xpkg.crossplane.io/crossplane-contrib/function-patch-and-transform:v0.8.2
    input:
      # Removed for brevity
`;

/** As the design document has it. */
const XR = `
apiVersion: custom-api.example.org/v1alpha1
kind: AcmeBucket
metadata:
  name: my-bucket
spec:
  compositionUpdatePolicy: Manual
  compositionRevisionSelector:
    matchLabels:
      release-channel: alpha
`;

const DEFINITION = definitionYaml("AcmeBucket", {
  group: "custom-api.example.org",
  version: "v1alpha1",
  spec: "{ type: object, properties: { name: { type: string } } }",
});

/** A Function in a Deployment, a Composition with it, and an XR. */
const DEPLOYED = (source: string): string => `
apiVersion: pkg.crossplane.io/v1beta1
kind: DeploymentRuntimeConfig
metadata: { name: debug }
spec:
  deploymentTemplate:
    spec:
      selector: {}
      template: { spec: { containers: [{ name: package-runtime, args: [--debug] }] } }
---
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: { name: deployed }
spec: { package: "${source}", runtimeConfigRef: { name: debug } }
---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: deployed }
spec:
  compositeTypeRef: { apiVersion: custom-api.example.org/v1alpha1, kind: AcmeBucket }
  mode: Pipeline
  pipeline:
    - step: greet
      functionRef: { name: deployed }
---
apiVersion: custom-api.example.org/v1alpha1
kind: AcmeBucket
metadata: { name: deployed }
spec: { compositionRef: { name: deployed } }
`;

const CRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: buckets.aws.example.org }
spec:
  group: aws.example.org
  scope: Cluster
  names: { kind: Bucket, plural: buckets }
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }]
`;

const NEEDS = needs("api-server", "crun", "docker-registry", "go-functions");

describe("xfn-controller pins the functions of CompositionRevisions", NEEDS, () => {
  const pods = new Pods("crossplane-system");
  let cluster: PackageCluster;
  let program = "";

  beforeAll(async () => {
    cluster = await startPackageCluster({
      controller: ["--enable-function-runtimes", "--enable-rollouts"],
      access: (host) => ["--mirror", `xpkg.crossplane.io=${host}`],
      groups: ["custom-api.example.org"],
      env: pods.env,
    });
    program = buildGoProgram("go-greeting");
    for (const [name, GREETING] of [
      ["old", "Hello"],
      ["new", "Hi"],
    ] as const) {
      await buildGrpcImage(cluster.workspace, { name, program, env: { GREETING, NAMESPACE: "default" } });
    }
    await publish("old");
    await apply(DEFINITION);
    await kubectl("wait", "xrd", "--all", "--for=condition=Established", "--timeout=60s");
  }, 900_000);
  afterAll(async () => {
    await pods[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const publish = (from: string): Promise<void> => cluster.publish(from, `${REPOSITORY}:v0.8.2`);
  const apply = (yaml: string): Promise<string> => cluster.apply(yaml);
  const get = (...args: readonly string[]): Promise<string> => cluster.get(...args);
  const kubectl = (...args: readonly string[]): Promise<string> => cluster.server.kubectl(args);
  const greeting = async (): Promise<string> =>
    (await get("configmaps", "-o", "jsonpath={.items[*].data.greeting}")).trim();
  const names = async (what: string): Promise<string[]> => (await get(what, "-o", "name")).split("\n").filter(Boolean);
  const revisionOf = (): Promise<string> =>
    get("acmebucket", "my-bucket", "-o", "jsonpath={.spec.compositionRevisionRef.name}");
  const ownersOf = async (runtime: string): Promise<string[]> => {
    const path = "{range .metadata.ownerReferences[*]}{.kind} {.controller}{'\\n'}{end}";
    return (await get(runtime, "-o", `jsonpath=${path}`)).split("\n").map((line) => line.trim());
  };
  /** Makes a new revision, whose tag is resolved anew. */
  const label = (channel: string): Promise<string> =>
    kubectl("label", "composition", "example", "--overwrite", `release-channel=${channel}`);

  let first = "";

  test("as the design's examples show", async () => {
    await apply(COMPOSITION);
    await label("alpha");
    await expect.poll(() => apply(XR).then(() => "", String)).toBe("");
    await kubectl("wait", "acmebucket/my-bucket", "--for=condition=Synced", "--timeout=60s");
    expect(await greeting()).toBe("Hello");
    first = await revisionOf();
    const runtimes = await names("functionruntimes");
    expect(runtimes).toEqual([
      expect.stringMatching(/\/crossplane-contrib-function-patch-and-transform-[0-9a-f]{12}$/),
    ]);
    const [runtime = ""] = runtimes;
    // The revision without the label owns it too, and none controls it.
    expect(await ownersOf(runtime)).toEqual(["CompositionRevision", "CompositionRevision"]);
    expect(await get(runtime, "-o", "jsonpath={.spec.package} {.status.endpoint}")).toMatch(
      /^xpkg\.crossplane\.io\/crossplane-contrib\/function-patch-and-transform@sha256:[0-9a-f]{64} unix:/,
    );
    await kubectl("wait", "compositionrevision", first, "--for=condition=RuntimesHealthy", "--timeout=60s");
  });

  test("so that a tag that moved reaches only new revisions, and a rollback runs what ran before", async () => {
    await publish("new");
    await label("beta");
    await expect.poll(() => names("functionruntimes"), { timeout: 60_000 }).toHaveLength(2);
    await kubectl("annotate", "acmebucket", "my-bucket", "seen=beta");
    await kubectl("wait", "functionruntimes", "--all", "--for=condition=Healthy", "--timeout=60s");
    expect(await greeting()).toBe("Hello");
    const select = (spec: object): Promise<string> =>
      kubectl("patch", "acmebucket", "my-bucket", "--type=merge", "-p", JSON.stringify({ spec }));
    const matchLabels = { "release-channel": "beta" };
    await select({ compositionRevisionSelector: { matchLabels }, compositionRevisionRef: null });
    await expect.poll(greeting).toBe("Hi");
    expect(await revisionOf()).not.toBe(first);
    await select({ compositionRevisionRef: { name: first } });
    await expect.poll(greeting).toBe("Hello");
  });

  test("and a Function shares the runtime of its version", async () => {
    const source = `xpkg.crossplane.io/${REPOSITORY}:v0.8.2`;
    await apply(
      `apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: { name: fn }\nspec: { package: "${source}" }\n`,
    );
    await kubectl("wait", "function/fn", "--for=condition=Healthy", "--timeout=60s");
    expect(await names("functionruntimes")).toHaveLength(2);
    const owners = await Promise.all((await names("functionruntimes")).map(ownersOf));
    expect(owners.filter((one) => one.includes("FunctionRevision"))).toHaveLength(1);
  });

  test("and nothing is left of a deleted Composition and Function", async () => {
    await kubectl("delete", "acmebucket/my-bucket", "composition/example", "--timeout=60s");
    await expect.poll(() => names("compositionrevisions"), { timeout: 60_000 }).toEqual([]);
    await expect.poll(() => names("functionruntimes"), { timeout: 60_000 }).toHaveLength(1);
    await kubectl("delete", "function/fn", "--timeout=60s");
    await expect.poll(() => names("functionruntimes"), { timeout: 60_000 }).toEqual([]);
    expect(await names("functionrevisions")).toEqual([]);
  });

  describe("and runs them in Deployments", () => {
    let name = "";
    let calls = 0;
    const inNamespace = (...args: readonly string[]): Promise<string> => get("-n", "crossplane-system", ...args);
    const problem = (what: string): Promise<string> => get(what, "-o", "jsonpath={.status.conditions[*].message}");
    const roll = async (greets: string): Promise<void> => {
      await pods.roll(cluster.server, name, program, { GREETING: greets, NAMESPACE: "default" });
    };
    /** The authorities that a Secret trusts. */
    const authorities = async (end: "server" | "client"): Promise<number> => {
      const data = await inNamespace("secret", `${name}-tls-${end}`, "-o", "jsonpath={.data.ca\\.crt}");
      return Buffer.from(data, "base64").toString().split("BEGIN CERTIFICATE").length - 1;
    };
    const certificate = (secret: string): Promise<string> =>
      inNamespace("secret", secret, "-o", "jsonpath={.data.tls\\.crt}");
    /** Makes a call, and waits for the greeting that it composes. */
    const expectGreeting = async (greets: string): Promise<void> => {
      const spec = { name: `call-${++calls}` };
      await kubectl("patch", "acmebucket", "deployed", "--type=merge", "-p", JSON.stringify({ spec }));
      await expect.poll(greeting, { timeout: 60_000 }).toBe(`${greets} ${spec.name}`);
    };

    test("if a Function names a DeploymentRuntimeConfig, and reports what keeps the pods from running", async () => {
      await cluster.publish("old", "fns/deployed:v1");
      await apply(DEPLOYED(`${cluster.registry.host}/fns/deployed:v1`));
      await expect.poll(() => names("functionruntimes"), { timeout: 60_000 }).toHaveLength(1);
      name = (await names("functionruntimes"))[0]?.split("/")[1] ?? "";
      await expect
        .poll(() => problem(`functionruntime/${name}`), { timeout: 60_000 })
        .toContain("waits for its first pod");
      const deployment = JSON.parse(await inNamespace("deployment", name, "-o", "json"));
      expect(deployment.spec.template.spec).toMatchObject({
        serviceAccountName: name,
        securityContext: { runAsNonRoot: true, runAsUser: 2000 },
        containers: [{ image: expect.stringMatching(/@sha256:/), args: ["--debug"] }],
      });
      expect(await refusalOf(cluster.server, deployment.spec.template.spec, "restricted")).toBeUndefined();
      expect(await inNamespace("service", name, "-o", "jsonpath={.spec.clusterIP}")).toBe("None");
      await pods.condition(cluster.server, name, "ReplicaFailure", "True", "exceeded quota: few-pods");
      await expect
        .poll(() => problem("function/deployed"), { timeout: 60_000 })
        .toContain("exceeded quota: few-pods; raise");
    });

    test("calls them with mTLS once a pod is available", async () => {
      await roll("Hello");
      await kubectl("wait", "function/deployed", "--for=condition=Healthy", "--timeout=60s");
      expect(await get("functionruntime", name, "-o", "jsonpath={.status.endpoint}")).toBe(
        `dns:///${name}.crossplane-system:9443`,
      );
      await expectGreeting("Hello");
    });

    test("replaces a deleted authority, and calls go on whichever pods have restarted", async () => {
      const before = await certificate(`${name}-tls-client`);
      await kubectl("-n", "crossplane-system", "delete", "secret", "xfn-runtime-ca");
      await expect.poll(() => authorities("server"), { timeout: 60_000 }).toBe(2);
      await expectGreeting("Hello");
      await roll("Hi");
      await expectGreeting("Hi");
      await expect.poll(() => certificate(`${name}-tls-client`), { timeout: 60_000 }).not.toBe(before);
      await expect.poll(() => authorities("server"), { timeout: 60_000 }).toBe(1);
      await expectGreeting("Hi");
      await roll("Good day");
      await expectGreeting("Good day");
      expect(await authorities("client")).toBe(1);
    });

    test("leaves an object of another owner alone", async () => {
      await kubectl("-n", "crossplane-system", "delete", "service", name);
      await expect.poll(() => inNamespace("services", "-o", "name"), { timeout: 60_000 }).toContain(name);
      await cluster.publish("new", "fns/deployed:v2");
      const taken = (await revisionNameOf("fns/deployed:v2")) ?? "";
      await kubectl("-n", "crossplane-system", "create", "serviceaccount", taken);
      await apply(DEPLOYED(`${cluster.registry.host}/fns/deployed:v2`));
      const message = `the ServiceAccount crossplane-system/${taken} exists and belongs to another object`;
      await expect.poll(() => problem("function/deployed"), { timeout: 60_000 }).toContain(message);
      // The version before goes on.
      await expectGreeting("Good day");
      await kubectl("-n", "crossplane-system", "delete", "serviceaccount", taken);
    });

    test("gives a provider rights on its CRDs, once the controller may grant them", async () => {
      const hook = "{ service: { namespace: kube-system, name: foreign, path: /convert } }";
      const conversion = `{ strategy: Webhook, webhook: { conversionReviewVersions: [v1], clientConfig: ${hook} } }`;
      const crd = CRD.replace("spec:", `spec:\n  conversion: ${conversion}`);
      const packageFile = `apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: { name: p }\n---${crd}`;
      await cluster.publish(await buildGrpcImage(cluster.workspace, { name: "provider", packageFile }), "acme/p:v1");
      const source = `${cluster.registry.host}/acme/p:v1`;
      await apply(
        `apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: { name: p }\nspec: { package: "${source}" }\n`,
      );
      const events = (): Promise<string> =>
        get(
          "events",
          "-A",
          "--field-selector",
          "reason=CannotGrant",
          "-o",
          "jsonpath={.items[*].note} {.items[*].message}",
        );
      await expect.poll(events, { timeout: 60_000 }).toContain("deploy/providers");
      const [runtime = ""] = await names("providerruntimes");
      await kubectl("apply", "-f", join(CHECKOUT, "deploy/providers/rbac.yaml"));
      const account = `system:serviceaccount:crossplane-system:${runtime.split("/")[1] ?? ""}`;
      const may = (verb: string): Promise<string> =>
        kubectl("auth", "can-i", verb, "buckets.aws.example.org", "--as", account).then(
          (answer) => answer.trim(),
          () => "no",
        );
      await expect
        .poll(
          async () => {
            await kubectl("annotate", "--overwrite", runtime, `again=${Date.now()}`);
            return may("update");
          },
          { timeout: 60_000 },
        )
        .toBe("yes");
      expect(await may("delete")).toBe("no");
      // Its conversion webhook is at its own Service, even if the package names another one.
      const place = "jsonpath={.spec.conversion.webhook.clientConfig.service}";
      expect(JSON.parse(await get("crd/buckets.aws.example.org", "-o", place))).toEqual({
        namespace: "crossplane-system",
        name: runtime.split("/")[1],
        port: 9443,
        path: "/convert",
      });
      await kubectl("delete", "provider/p", "--timeout=60s");
      const left = async (): Promise<string[]> =>
        (await names("clusterroles,clusterrolebindings")).filter((one) => one.includes("crossplane:provider:"));
      await expect.poll(left, { timeout: 60_000 }).toEqual([]);
    });

    test("and deletes all of them with the Function", async () => {
      await kubectl("delete", "acmebucket/deployed", "composition/deployed", "function/deployed", "--timeout=60s");
      const left = (): Promise<string> =>
        inNamespace("deployments,services,serviceaccounts,secrets", "-l", "pkg.crossplane.io/runtime", "-o", "name");
      await expect.poll(left, { timeout: 60_000 }).toBe("secret/xfn-runtime-ca");
    });

    async function revisionNameOf(image: string): Promise<string> {
      const { status, headers } = await fetch(
        `http://${cluster.registry.host}/v2/${image.replace(":", "/manifests/")}`,
        {
          method: "HEAD",
          headers: { accept: "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json" },
        },
      );
      expect(status).toBe(200);
      const digest = headers.get("docker-content-digest") ?? "";
      const hash = createHash("sha256").update(`${cluster.registry.host}/${digest}`).digest("hex");
      return `${image.split(":")[0]?.replaceAll("/", "-") ?? ""}-${hash.slice(0, 12)}`;
    }
  });

  describe("and rolls a new version out in steps", () => {
    const REVISION = "jsonpath={.spec.compositionRevisionRef.name}";
    /** A Composition with a version of the function, first for XRs with a label. */
    const canary = (tag: string): string => `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: steps }
spec:
  compositeTypeRef: { apiVersion: custom-api.example.org/v1alpha1, kind: AcmeBucket }
  mode: Pipeline
  pipeline:
    - step: greet
      functionRef: { package: "xpkg.crossplane.io/crossplane-contrib/steps:${tag}" }
  rollout:
    shadow: { composites: 1 }
    canary: { matchLabels: { tier: canary } }
    analysis: { duration: 2s }
`;
    const xr = (name: string, tier: string): string => `
apiVersion: custom-api.example.org/v1alpha1
kind: AcmeBucket
metadata: { name: ${name}, labels: { tier: ${tier} } }
spec: { name: ${name}, compositionRef: { name: steps } }
`;
    const greeted = (name: string, path: string): Promise<string> =>
      get("configmaps", "-l", `crossplane.io/composite=${name}`, "-o", `jsonpath={.items[*]${path}}`);
    const revision = async (number: number): Promise<string> => {
      const path = `jsonpath={.items[?(@.spec.revision==${number})].metadata.name}`;
      await expect
        .poll(() => get("compositionrevisions", "-l", "crossplane.io/composition-name=steps", "-o", path), {
          timeout: 60_000,
        })
        .not.toBe("");
      return get("compositionrevisions", "-l", "crossplane.io/composition-name=steps", "-o", path);
    };
    const ended = async (number: number, phase: string): Promise<Record<string, unknown>> => {
      const name = await revision(number);
      await kubectl(
        "wait",
        "compositionrevision",
        name,
        `--for=jsonpath={.status.rollout.phase}=${phase}`,
        "--timeout=120s",
      );
      return JSON.parse(await get("compositionrevision", name, "-o", "jsonpath={.status.rollout}"));
    };

    beforeAll(async () => {
      const program = buildGoProgram("go-greeting");
      const images = {
        "steps-v1": { GREETING: "Hello", READY: "yes" },
        "steps-v2": { GREETING: "Hi", READY: "yes" },
        "steps-v3": { GREETING: "Huh" },
        "steps-v4": { FATAL: "this version is broken" },
      };
      for (const [name, env] of Object.entries(images)) {
        await buildGrpcImage(cluster.workspace, { name, program, env: { ...env, NAMESPACE: "default" } });
        await cluster.publish(name, `crossplane-contrib/steps:${name.slice(-2)}`);
      }
      await apply(canary("v1"));
      await apply(`${xr("first", "canary")}---${xr("second", "stable")}`);
      await kubectl("wait", "acmebuckets", "first", "second", "--for=condition=Ready", "--timeout=120s");
    }, 300_000);

    test("to all in the end, if it works", async () => {
      await apply(canary("v2"));
      const rollout = await ended(2, "Complete");
      expect(rollout["shadow"]).toEqual([
        {
          name: "first",
          differences: [
            { resource: "greeting", path: "data.greeting", applied: '"Hello first"', desired: '"Hi first"' },
          ],
        },
      ]);
      const { code, stdout } = await cluster.workspace.xfn([
        "rollout",
        "steps",
        "--kubeconfig",
        cluster.server.admin.kubeconfig,
      ]);
      expect(code).toBe(0);
      expect(stdout).toContain(
        'in shadow, first would change:\n    greeting data.greeting: "Hello first" -> "Hi first"\n',
      );
      for (const name of ["first", "second"])
        await expect.poll(() => greeted(name, ".data.greeting"), { timeout: 60_000 }).toBe(`Hi ${name}`);
    });

    test("and back from one label, if its resources do not get ready", async () => {
      const stable = await revision(2);
      const version = (name: string): Promise<string> => greeted(name, ".metadata.resourceVersion");
      const before = [await version("first"), await version("second")];
      await apply(canary("v3"));
      expect(await ended(3, "RolledBack")).toMatchObject({
        from: stable,
        message: expect.stringMatching(/^failed in the canary: first: Ready is not True: Creating/),
      });
      await expect.poll(() => greeted("first", ".data.greeting"), { timeout: 60_000 }).toBe("Hi first");
      await kubectl("wait", "acmebuckets", "first", "second", "--for=condition=Ready", "--timeout=60s");
      expect(await get("acmebucket", "first", "-o", REVISION)).toBe(stable);
      expect(await get("acmebucket", "second", "-o", REVISION)).toBe(stable);
      // The canary alone was changed, and changed back.
      expect(await version("first")).not.toBe(before[0]);
      expect(await version("second")).toBe(before[1]);
      const events = await get(
        "events",
        "-A",
        "--field-selector",
        "reason=RolledBack",
        "-o",
        "jsonpath={.items[*].note} {.items[*].message}",
      );
      expect(events).toContain("failed in the canary: first");
    });

    test("and reaches no composite resource, if it fails in shadow", async () => {
      const before = await greeted("first", ".metadata.resourceVersion");
      await apply(canary("v4"));
      expect(await ended(4, "RolledBack")).toMatchObject({
        message: expect.stringMatching(/^failed in shadow: first: FatalResult: .*this version is broken/),
      });
      expect(await greeted("first", ".metadata.resourceVersion")).toBe(before);
      expect(await get("acmebucket", "first", "-o", REVISION)).toBe(await revision(2));
    });
  });

  test("with the rights of deploy/packages", () => {
    expect(cluster.forbidden()).toEqual([]);
  });
});
