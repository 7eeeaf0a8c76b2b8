import type { KubernetesObject } from "@xfn/json";
import { type ConnectedClient, connect, type LiveObject, loadKubeconfig, startInformers } from "@xfn/kubernetes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { needs } from "../harness/needs.ts";

const settings = (name: string, namespace = "default"): KubernetesObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace },
  data: { a: "b" },
});
const WEB = { apiVersion: "apps/v1", kind: "Deployment", namespace: "default", name: "web" };

describe("options of @xfn/kubernetes on an API server", needs("api-server"), () => {
  let server: TestApiServer;
  let client: ConnectedClient;

  beforeAll(async () => {
    server = await startApiServer();
    const access = await loadKubeconfig({ path: server.admin.kubeconfig });
    client = await connect({ access, fieldManager: "options" });
  });
  afterAll(async () => {
    await client?.close();
    await server?.stop();
  });

  test("an informer has the metadata of the objects of one namespace and field selector", async () => {
    const informers = startInformers(client);
    const kind = await client.kind("v1", "ConfigMap");
    const options = { namespace: "default", fieldSelector: "metadata.name!=left-out", metadataOnly: true };
    const { informer } = informers.acquire(kind, options);
    await client.create(settings("listed"));
    await informer.whenSynced();
    await client.create(settings("watched"));
    await client.create(settings("left-out"));
    await client.create(settings("elsewhere", "kube-system"));
    await client.create(settings("last"));
    const names = (): string[] => informer.cache.list().map(({ metadata }) => metadata.name);
    await expect.poll(names).toContain("last");
    expect(names()).toEqual(expect.arrayContaining(["listed", "watched"]));
    for (const name of ["left-out", "elsewhere"]) expect(names()).not.toContain(name);
    for (const { apiVersion, kind: name, ...rest } of informer.cache.list()) {
      expect([apiVersion, name]).toEqual(["v1", "ConfigMap"]);
      expect(Object.keys(rest)).toEqual(["metadata"]);
    }
    await informers.stop();
  });

  test("a Deployment is scaled by its subresource, and its containers are merged by a strategic patch", async () => {
    const containers = [{ name: "web", image: "web:1" }];
    const labels = { app: "web" };
    const template = { metadata: { labels }, spec: { containers } };
    await client.create({
      ...WEB,
      metadata: { name: WEB.name, namespace: WEB.namespace },
      spec: { selector: { matchLabels: labels }, template },
    });
    await client.patch(WEB, "merge", { spec: { replicas: 4 } }, { subresource: "scale" });
    const scale = await client.get(WEB, { subresource: "scale" });
    expect(scale).toMatchObject({ kind: "Scale", spec: { replicas: 4 } });
    const sidecar = { spec: { template: { spec: { containers: [{ name: "proxy", image: "proxy:1" }] } } } };
    const patched = await client.patch(WEB, "strategic", sidecar);
    expect(namesOf(patched)).toEqual(["proxy", "web"]);
  });

  test("a user can be impersonated with several groups and extra fields", async () => {
    const access = await loadKubeconfig({ path: server.admin.kubeconfig });
    const own = await access.headers();
    const impersonated = {
      "impersonate-user": "ada",
      "impersonate-group": ["dev", "ops"],
      "impersonate-extra-example.org%2fteam": ["shop"],
    };
    const ada = await connect({
      access: { ...access, headers: () => ({ ...own, ...impersonated }) },
      fieldManager: "x",
    });
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const review = await ada.raw("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", { body });
    await ada.close();
    expect(review).toMatchObject({
      status: {
        userInfo: {
          username: "ada",
          groups: expect.arrayContaining(["dev", "ops"]),
          extra: { "example.org/team": ["shop"] },
        },
      },
    });
  });
});

function namesOf(deployment: LiveObject): string[] {
  const { spec } = deployment as unknown as { spec: { template: { spec: { containers: { name: string }[] } } } };
  return spec.template.spec.containers.map(({ name }) => name).toSorted();
}
