import { isObject, type JsonObject } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { manifestsOf, type Workload, workloadName } from "./manifests.ts";

const IMAGE = `registry.example.org/fns/greeting@sha256:${"a".repeat(64)}`;

function workload(config: JsonObject = {}, more: Partial<Workload> = {}): Workload {
  return {
    kind: "Function",
    runtime: "fns-greeting-aaaaaaaaaaaa",
    namespace: "xfn-system",
    owner: { kind: "FunctionRuntime", name: "fns-greeting-aaaaaaaaaaaa", uid: "1", controller: true },
    image: IMAGE,
    pullPolicy: undefined,
    pullSecrets: [],
    config,
    ...more,
  };
}

const deploymentOf = (config: JsonObject, more: Partial<Workload> = {}): JsonObject =>
  manifestsOf(workload(config, more), "hash").deployment;
const containersOf = (deployment: JsonObject): JsonObject[] => {
  const { template } = deployment["spec"] as { template: { spec: { containers: JsonObject[] } } };
  return template.spec.containers.filter(isObject);
};
const template = (spec: JsonObject, more: JsonObject = {}): JsonObject => ({
  deploymentTemplate: { spec: { selector: {}, template: { spec: { containers: [], ...spec } }, ...more } },
});

describe("without a DeploymentRuntimeConfig", () => {
  test("a function has Crossplane's defaults, and what Pod Security `restricted` requires", () => {
    const { deployment, service, serviceAccount } = manifestsOf(workload(), "hash");
    expect(deployment["spec"]).toMatchObject({
      replicas: 1,
      template: { spec: { securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } } } },
    });
    expect(containersOf(deployment)).toEqual([
      {
        name: "package-runtime",
        image: IMAGE,
        imagePullPolicy: "IfNotPresent",
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 2000,
          runAsGroup: 2000,
          allowPrivilegeEscalation: false,
          privileged: false,
          capabilities: { drop: ["ALL"] },
        },
        ports: [
          { name: "metrics", containerPort: 8080 },
          { name: "grpc", containerPort: 9443 },
        ],
        env: [{ name: "TLS_SERVER_CERTS_DIR", value: "/tls/server" }],
        volumeMounts: [{ name: "tls-server-certs", mountPath: "/tls/server", readOnly: true }],
      },
    ]);
    expect(service["spec"]).toMatchObject({ clusterIP: "None", ports: [{ port: 9443, targetPort: "grpc" }] });
    expect(serviceAccount?.metadata.name).toBe("fns-greeting-aaaaaaaaaaaa");
  });

  test("a provider gets both certificates, a port for webhooks, and the names of its package and revision", () => {
    const revision = { provider: "p", name: "p-1", uid: "u" };
    const { deployment, service } = manifestsOf(workload({}, { kind: "Provider", revision }), "hash");
    const [container] = containersOf(deployment);
    expect(container?.["env"]).toMatchObject([
      { name: "TLS_SERVER_CERTS_DIR", value: "/tls/server" },
      { name: "TLS_CLIENT_CERTS_DIR", value: "/tls/client" },
      { name: "POD_NAMESPACE" },
      { name: "WEBHOOK_TLS_CERT_DIR", value: "$(TLS_SERVER_CERTS_DIR)" },
      { name: "PROVIDER_NAME", value: "p" },
      { name: "REVISION_NAME", value: "p-1" },
      { name: "REVISION_UID", value: "u" },
    ]);
    expect(container?.["ports"]).toContainEqual({ name: "webhook", containerPort: 9443 });
    expect(service["spec"]).not.toHaveProperty("clusterIP");
  });

  test("pull secrets and the pull policy are the runtime's", () => {
    const deployment = deploymentOf({}, { pullSecrets: ["a"], pullPolicy: "Always" });
    expect(deployment).toMatchObject({ spec: { template: { spec: { imagePullSecrets: [{ name: "a" }] } } } });
    expect(containersOf(deployment)[0]).toMatchObject({ imagePullPolicy: "Always" });
  });
});

describe("the templates of a DeploymentRuntimeConfig", () => {
  test("win over defaults, and cannot change selectors, certificates and owner", () => {
    const deployment = deploymentOf(
      template(
        {
          securityContext: { runAsUser: 7 },
          volumes: [{ name: "own" }, { name: "tls-server-certs", emptyDir: {} }],
          containers: [
            { name: "sidecar", image: "sidecar" },
            {
              name: "package-runtime",
              image: "other",
              args: ["--debug"],
              env: [
                { name: "A", value: "b" },
                { name: "TLS_SERVER_CERTS_DIR", value: "/elsewhere" },
              ],
              ports: [{ name: "metrics", containerPort: 9090 }],
            },
          ],
        },
        { replicas: 3, selector: { matchLabels: { app: "x" } } },
      ),
    );
    const labels = { app: "x", "pkg.crossplane.io/runtime": "fns-greeting-aaaaaaaaaaaa" };
    expect(deployment["spec"]).toMatchObject({
      replicas: 3,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { "pkg.crossplane.io/certificates": "hash" } },
        spec: {
          securityContext: { runAsUser: 7 },
          volumes: [{ name: "own" }, { name: "tls-server-certs", secret: { secretName: expect.any(String) } }],
        },
      },
    });
    const [container, sidecar] = containersOf(deployment);
    expect(container).toMatchObject({
      image: "other",
      args: ["--debug"],
      env: [
        { name: "A", value: "b" },
        { name: "TLS_SERVER_CERTS_DIR", value: "/tls/server" },
      ],
      ports: [
        { name: "grpc", containerPort: 9443 },
        { name: "metrics", containerPort: 9090 },
      ],
    });
    expect(sidecar).toEqual({ name: "sidecar", image: "sidecar" });
  });

  test("name and label each object", () => {
    const metadata = { name: "mine", labels: { a: "b" }, annotations: { c: "d" } };
    const config = { serviceAccountTemplate: { metadata }, serviceTemplate: { metadata } };
    const { serviceAccount, service, deployment } = manifestsOf(workload(config), "hash");
    for (const object of [serviceAccount, service])
      expect(object?.metadata).toMatchObject({ ...metadata, labels: { a: "b" } });
    expect(deployment).toMatchObject({ spec: { template: { spec: { serviceAccountName: "mine" } } } });
  });

  test("can name a service account that exists, and none is created", () => {
    expect(manifestsOf(workload(template({ serviceAccountName: "shared" })), "hash").serviceAccount).toBeUndefined();
  });
});

test.each([
  ["fns-greeting-0123456789ab", /^fns-greeting-0123456789ab$/],
  ["9lives", /^x-9lives-[0-9a-f]{12}$/],
  ["a.b", /^x-a-b-[0-9a-f]{12}$/],
  ["a".repeat(200), /^x-a{48}-[0-9a-f]{12}$/],
])("the runtime %s has objects named %s", (name, expected) => {
  expect(workloadName(name)).toMatch(expected);
});
