import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findBinaries } from "@xfn/dev-cluster";
import { isObject, type JsonObject, listAt, objectAt, textAt } from "@xfn/json";
import { dnsLabel } from "@xfn/package";
import { beforeAll, describe, expect, test } from "vitest";
import { CHART, type HelmResult, helm, objectsOf, valueArguments } from "../harness/helm.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

// Renders deploy/chart without a cluster.

const NAMESPACE = "crossplane-system";

describe("deploy/chart", needs("api-server", "helm"), () => {
  let home: string;
  beforeAll(() => {
    home = temporaryFolder();
  });

  const template = (values: JsonObject, ...more: readonly string[]): HelmResult =>
    helm(["template", "xfn", CHART, "-n", NAMESPACE, "--kube-version", "1.34.0", ...valueArguments(values), ...more], {
      home,
    });
  const render = (values: JsonObject, ...more: readonly string[]): JsonObject[] => {
    const { status, stdout, stderr } = template(values, ...more);
    expect(stderr).toBe("");
    expect(status).toBe(0);
    return objectsOf(stdout);
  };
  const kustomize = (overlay: string): JsonObject[] => {
    const { kubectl = "kubectl" } = findBinaries().binaries ?? {};
    return objectsOf(execFileSync(kubectl, ["kustomize", join(CHECKOUT, "deploy", overlay)], { encoding: "utf8" }));
  };
  const podOf = (values: JsonObject): JsonObject => podSpec(find(render(values), "Deployment"));

  test("passes helm lint, also in its strict form", () => {
    const { status, stdout } = helm(["lint", "--strict", CHART], { home });
    expect(stdout).not.toMatch(/WARNING|ERROR/);
    expect(status).toBe(0);
  });

  test.each<[string, JsonObject]>([
    [".", {}],
    ["wasm", { wasm: true }],
    ["packages", { substrate: "Runner" }],
    ["providers", { substrate: "Runner", grantProviderRights: true }],
    ["templates-only", { profile: "templates" }],
  ])("has the objects of deploy/%s with the values %j", (overlay, values) => {
    const rendered = render(values, "--include-crds");
    const isPackageCrd = (object: JsonObject): boolean =>
      object["kind"] === CRD && /\.pkg\.crossplane\.io$|^managedresource/.test(nameOf(object));
    const expected = kustomize(overlay).filter(({ kind }) => kind !== "Namespace");
    expect(comparable(rendered.filter((object) => !isPackageCrd(object)))).toEqual(comparable(expected));
  });

  test("has the CRDs of packages, and none among the templates, whose removal would delete all objects", () => {
    const names = (objects: readonly JsonObject[]): string[] =>
      objects.filter(({ kind }) => kind === CRD).map((object) => nameOf(object));
    expect(names(render({}, "--include-crds"))).toContain("functions.pkg.crossplane.io");
    expect(names(render({}))).toEqual([]);
  });

  test.each<[JsonObject, string]>([
    [{ replicas: "two" }, "at '/replicas': got string, want integer"],
    [{ "image.digest": "latest" }, "at '/image/digest': 'latest' does not match pattern"],
    [{ substrate: "Wasm" }, "at '/substrate': value must be one of 'Deployment', 'Runner', 'none'"],
    [{ "resources.limits": { memory: true } }, "at '/resources/limits/memory': got boolean"],
    [{ "resources.limits": { memory: "1 GB" } }, "at '/resources/limits/memory': '1 GB' does not match pattern"],
    [{ "packages.functions": ["function-auto-ready"] }, "at '/packages/functions/0': 'function-auto-ready' does not"],
    [{ imagePullSecrets: ["registry"] }, "at '/imagePullSecrets/0': got string, want object"],
    [{ nodeSelectors: {} }, "additional properties 'nodeSelectors' not allowed"],
    [{ "proxy.https": "http://ada:secret@proxy.example.org" }, "at '/proxy/https': 'not' failed"],
    [{ extraObjects: [{ apiVersion: "v1", kind: "Secret" }] }, "at '/extraObjects/0': 'not' failed"],
  ])("refuses %j with the path of the value", (values, message) => {
    const { status, stdout, stderr } = template(values);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain("secret@");
    expect(stdout).toBe("");
    expect(status).not.toBe(0);
  });

  test("refuses the runner before Kubernetes 1.33, and packages without functions", () => {
    const old = template({ substrate: "Runner" }, "--kube-version", "1.32.9");
    expect(old.stderr).toContain("which Kubernetes has since 1.33: use Deployment");
    const packages = template({ profile: "templates", "packages.functions": ["r.example.org/a/b:v1"] });
    expect(packages.stderr).toContain("the profile templates installs none");
  });

  test("selects the image by its tag or digest, with its pull secrets", () => {
    const digest = `sha256:${"a".repeat(64)}`;
    const image = { registry: "r.example.org:5000", repository: "team/xfn", tag: "v2", pullPolicy: "Always" };
    expect(containerOf(podOf({ image }))).toMatchObject({
      image: "r.example.org:5000/team/xfn:v2",
      imagePullPolicy: "Always",
    });
    const rendered = render({ image: { ...image, digest }, imagePullSecrets: [{ name: "registry" }] });
    const pod = podSpec(find(rendered, "Deployment"));
    expect(containerOf(pod)["image"]).toBe(`r.example.org:5000/team/xfn@${digest}`);
    expect(pod["imagePullSecrets"]).toEqual([{ name: "registry" }]);
    expect(find(rendered, "ServiceAccount")["imagePullSecrets"]).toEqual([{ name: "registry" }]);
  });

  test("passes scheduling, resources and volumes to pods as they are", () => {
    const fields = {
      nodeSelector: { "kubernetes.io/arch": "arm64" },
      tolerations: [{ key: "infra", operator: "Exists" }],
      affinity: { nodeAffinity: {} },
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }],
      priorityClassName: "system-cluster-critical",
      runtimeClassName: "gvisor",
      hostNetwork: true,
      dnsPolicy: "Default",
    };
    expect(podOf(fields)).toMatchObject(fields);
    const volume = { name: "recordings", emptyDir: {} };
    const mount = { name: "recordings", mountPath: "/recordings" };
    const resources = { limits: { memory: "1Gi" } };
    const pod = podOf({ "resources.limits": resources.limits, extraVolumes: [volume], extraVolumeMounts: [mount] });
    expect(pod["volumes"]).toContainEqual(volume);
    expect(containerOf(pod)["volumeMounts"]).toContainEqual(mount);
    expect(containerOf(pod)["resources"]).toMatchObject(resources);
  });

  test("gives each container its flags and variables, certificates of registries and the proxy", () => {
    const pod = podOf({
      substrate: "Runner",
      profile: "all",
      extraArgs: ["--log-format=text"],
      extraEnv: [{ name: "XFN_CONTROLLER_CONCURRENCY", value: "8" }],
      "runner.extraArgs": ["--allow-unlimited"],
      "runner.cacheSize": "1Gi",
      "registryCa.configMap": "ca",
      "proxy.https": "http://proxy.example.org:3128",
      "proxy.noProxy": ["registry.internal"],
    });
    const [runner, controller] = [containerOf(pod, "initContainers"), containerOf(pod)];
    const ca = "--registry-ca=/etc/xfn/registry-ca/ca.crt";
    expect(controller["args"]).toEqual(expect.arrayContaining([ca, "--enable-rollouts", "--log-format=text"]));
    expect(runner["args"]).toEqual(expect.arrayContaining([ca, "--allow-unlimited"]));
    for (const container of [runner, controller]) {
      expect(container["env"]).toContainEqual({ name: "HTTPS_PROXY", value: "http://proxy.example.org:3128" });
      const [noProxy] = listAt(container, "env").filter((one) => isObject(one) && one["name"] === "NO_PROXY");
      // The API server must not be asked through the proxy.
      expect(isObject(noProxy) && noProxy["value"]).toMatch(/^\$\(KUBERNETES_SERVICE_HOST\),.*,registry\.internal$/);
      expect(JSON.stringify(container["volumeMounts"])).toContain("/etc/xfn/registry-ca");
    }
    expect(JSON.stringify(runner)).not.toContain("XFN_CONTROLLER_CONCURRENCY");
    expect(pod["volumes"]).toContainEqual({ name: "registry-ca", configMap: { name: "ca" } });
    expect(pod["volumes"]).toContainEqual({ name: "images", emptyDir: { sizeLimit: "1Gi" } });
  });

  test("installs packages under the names of dependencies, and keeps them", () => {
    const repositories = ["crossplane-contrib/function-auto-ready", "a/b_c.d"];
    const sources = [
      `xpkg.crossplane.io/${repositories[0]}:v0.6.0`,
      `localhost:5000/${repositories[1]}@sha256:${"0".repeat(64)}`,
    ];
    const functions = render({ "packages.functions": sources }).filter(({ kind }) => kind === "Function");
    expect(functions.map((object) => nameOf(object))).toEqual(repositories.map((repository) => dnsLabel(repository)));
    expect(functions.map((object) => textAt(object, "spec", "package"))).toEqual(sources);
    for (const object of functions)
      expect(textAt(object, "metadata", "annotations", "helm.sh/resource-policy")).toBe("keep");
  });

  test("adds labels and annotations to all objects, and others as asked", () => {
    const extra = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "extra" } };
    const values = {
      labels: { team: "platform" },
      annotations: { "example.org/owner": "ada" },
      podLabels: { tier: "control" },
      podAnnotations: { "example.org/scrape": "no" },
      "serviceAccount.annotations": { "example.org/identity": "xfn" },
      "monitor.kind": "ServiceMonitor",
      "monitor.alerts": true,
      "monitor.dashboard": true,
      "networkPolicy.create": true,
      "packages.providers": ["r.example.org/acme/provider:v1"],
      grantProviderRights: true,
    };
    const rendered = render({ ...values, extraObjects: [extra] });
    expect(rendered).toContainEqual(extra);
    for (const object of rendered.filter((one) => nameOf(one) !== "extra")) {
      const metadata = objectAt(object, "metadata");
      expect(metadata, nameOf(object)).toMatchObject({ labels: values.labels, annotations: values.annotations });
    }
    const pod = objectAt(find(rendered, "Deployment"), "spec", "template", "metadata");
    expect(pod).toMatchObject({ labels: values.podLabels, annotations: values.podAnnotations });
    expect(find(rendered, "ServiceAccount")).toMatchObject({
      metadata: { annotations: { "example.org/identity": "xfn" } },
    });
    expect(find(rendered, "NetworkPolicy")).toMatchObject({ spec: { ingress: [{ ports: [{ port: "metrics" }] }] } });
  });

  test("leaves out what the values switch off", () => {
    const kinds = render({
      "serviceAccount.create": false,
      "serviceAccount.name": "mine",
      "podDisruptionBudget.create": false,
      "userRoles.create": false,
    });
    expect(kinds.map((object) => nameOf(object))).not.toContain("xfn-admin");
    expect(kinds.map(({ kind }) => kind)).not.toEqual(expect.arrayContaining(["ServiceAccount"]));
    expect(kinds.map(({ kind }) => kind)).not.toEqual(expect.arrayContaining(["PodDisruptionBudget"]));
    expect(find(kinds, "ClusterRoleBinding")["subjects"]).toMatchObject([{ name: "mine" }]);
    expect(containerOf(podSpec(find(kinds, "Deployment")))["args"]).toContain("--service-account=mine");
  });

  test("grants the rights of a flag with the flag alone", () => {
    const rolesOf = (values: JsonObject): unknown[] =>
      render(values).flatMap((object) => (object["kind"] === "ClusterRole" ? [nameOf(object)] : []));
    const roles = {
      "xfn-controller-resource-composition": { profile: "all" },
      "xfn-controller-usages": { usages: true },
      "xfn-controller-operations": { operations: true },
      "xfn-controller-dependency-updates": { dependencyUpdates: "upgrades" },
    };
    for (const [role, values] of Object.entries(roles)) {
      expect(rolesOf({})).not.toContain(role);
      expect(rolesOf(values)).toContain(role);
    }
  });

  test("has the alerts and the dashboard of deploy/monitoring", () => {
    const monitoring = (file: string): string => readFileSync(join(CHECKOUT, "deploy/monitoring", file), "utf8");
    const rendered = render({ "monitor.alerts": true, "monitor.dashboard": true });
    const [rule] = objectsOf(monitoring("alerts.yaml"));
    expect(find(rendered, "PrometheusRule")["spec"]).toEqual(rule?.["spec"]);
    const dashboard = textAt(find(rendered, "ConfigMap"), "data", "dashboard.json") ?? "";
    expect(JSON.parse(dashboard)).toEqual(JSON.parse(monitoring("dashboard.json")));
  });

  test("monitors the runner too, where there is one", () => {
    const monitor = { kind: "PodMonitor", labels: { release: "prometheus" }, interval: "30s" };
    const endpoints = (values: JsonObject): unknown =>
      objectAt(find(render({ monitor, ...values }), "PodMonitor"), "spec")["podMetricsEndpoints"];
    expect(endpoints({ substrate: "Runner" })).toEqual([
      { port: "metrics", interval: "30s" },
      { port: "runner-metrics", interval: "30s" },
    ]);
  });
});

const CRD = "CustomResourceDefinition";

const nameOf = (object: JsonObject): string => textAt(object, "metadata", "name") ?? "";

function find(objects: readonly JsonObject[], kind: string): JsonObject {
  const found = objects.find((object) => object["kind"] === kind);
  if (found === undefined) throw new Error(`no ${kind} was rendered`);
  return found;
}

const podSpec = (deployment: JsonObject): JsonObject => objectAt(deployment, "spec", "template", "spec");

function containerOf(pod: JsonObject, list = "containers"): JsonObject {
  const [container] = listAt(pod, list);
  if (!isObject(container)) throw new Error(`${list} is empty`);
  return container;
}

/** Objects by their kinds and names, without what Helm adds to those of kustomize. */
function comparable(objects: readonly JsonObject[]): Readonly<Record<string, unknown>> {
  const added = /^(helm\.sh\/chart|app\.kubernetes\.io\/(name|instance|version|managed-by))$/;
  return Object.fromEntries(
    objects.map((object) => {
      const { labels, annotations: _, ...metadata } = objectAt(object, "metadata");
      const own = isObject(labels) ? Object.entries(labels).filter(([name]) => !added.test(name)) : [];
      const text = JSON.stringify({ ...object, metadata: { ...metadata, labels: Object.fromEntries(own) } });
      // Defaults of Kubernetes that values name.
      const plain = text.replace('"revisionHistoryLimit":10,', "").replaceAll('"imagePullPolicy":"IfNotPresent",', "");
      return [`${String(object["kind"])} ${nameOf(object)}`, JSON.parse(plain)];
    }),
  );
}
