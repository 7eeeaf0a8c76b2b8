import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { beforeAll, expect, test } from "vitest";
import { type PackageOptions, type PackagePort, packagePort } from "../package/package-port.ts";
import { encode } from "./authority.ts";
import { createAuthority, type KeyPair } from "./certificates.ts";
import { webhookServices } from "./webhook-services.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const { signal } = new AbortController();
const revision = (kind: string, spec: object = {}): LiveObject => ({
  apiVersion: "pkg.crossplane.io/v1",
  kind,
  metadata: { name: "provider-a", uid: "revision", resourceVersion: "1" },
  spec: { image: `registry.example.org/acme/provider:v1@sha256:${"a".repeat(64)}`, ...spec },
});

let pair: KeyPair;
beforeAll(async () => {
  pair = await createAuthority(NOW);
});

/** @param objects of the API server, by kind and name */
const contextWith = (objects: Readonly<Record<string, object>>, more: Partial<PackageOptions> = {}): PackagePort => {
  const secret = {
    metadata: { name: "xfn-runtime-ca" },
    data: { "tls.crt": encode(pair.cert), "tls.key": encode(pair.key) },
  };
  const all: Readonly<Record<string, object>> = { "Secret/xfn-runtime-ca": secret, ...objects };
  const context = {
    namespace: "xfn-system",
    functionRuntimes: true,
    now: () => NOW,
    informers: { peek: () => undefined },
    client: {
      get: async ({ kind, name }: { kind: string; name: string }) => {
        const found = all[`${kind}/${name}`];
        if (found === undefined) throw new ApiError("NotFound", "not found", { status: 404 });
        return found;
      },
    },
    ...more,
  };
  return packagePort(context as unknown as PackageOptions);
};
const service = (owner: object): object => ({ kind: "Service", metadata: { name: "hooks", ownerReferences: [owner] } });
const CONFIG = { "DeploymentRuntimeConfig/small": { spec: { serviceTemplate: { metadata: { name: "hooks" } } } } };
const REF = { runtimeConfigRef: { name: "small" } };

test("the webhooks of a provider are at the Service of its runtime, with the authority of its certificate", async () => {
  const own = await webhookServices(contextWith({})).of(revision("ProviderRevision"), signal);
  expect(own).toMatchObject({ namespace: "xfn-system", name: expect.stringMatching(/^acme-provider-/), port: 9443 });
  expect(Buffer.from(own?.caBundle ?? "", "base64").toString()).toBe(pair.cert);
  const named = await webhookServices(contextWith(CONFIG)).of(revision("ProviderRevision", REF), signal);
  expect(named).toMatchObject({ name: "hooks" });
  expect(named?.mark).not.toBe(own?.mark);
});

test("while the authority is replaced, the API server trusts both, as far as the runtime's Secret names them", async () => {
  const revised = revision("ProviderRevision");
  const name = (await webhookServices(contextWith({})).of(revised, signal))?.name ?? "";
  const [previous, expired] = [await createAuthority(NOW), await createAuthority(0)];
  const secret = (...trusted: string[]): Record<string, object> => ({
    [`Secret/${name}-tls-server`]: { data: { "ca.crt": encode(trusted.join("")) } },
  });
  const during = await webhookServices(contextWith(secret(previous.cert, expired.cert))).of(revised, signal);
  expect(Buffer.from(during?.caBundle ?? "", "base64").toString()).toBe(pair.cert + previous.cert);
  const after = await webhookServices(contextWith(secret(pair.cert))).of(revised, signal);
  expect(Buffer.from(after?.caBundle ?? "", "base64").toString()).toBe(pair.cert);
  expect(after?.mark).not.toBe(during?.mark);
});

test("the mark shows a new name of the Service and a new authority, as far as the caches are filled", async () => {
  const named = await webhookServices(contextWith(CONFIG)).of(revision("ProviderRevision", REF), signal);
  const own = await webhookServices(contextWith({})).of(revision("ProviderRevision"), signal);
  const informers = {
    peek: () => ({ get: () => undefined, list: () => [] }),
  } as unknown as PackageOptions["informers"];
  const authority = { data: { "tls.crt": encode(pair.cert), "tls.key": encode(pair.key) } };
  const cached = (config: object | undefined, secret: object | undefined): Partial<PackageOptions> => ({
    informers,
    workloads: {
      caches: () => (kind: { kind: string }) => ({ get: () => (kind.kind === "Secret" ? secret : config) }),
    } as unknown as NonNullable<PackageOptions["workloads"]>,
  });
  const markOf = (more: Partial<PackageOptions>, spec: object = REF) =>
    webhookServices(contextWith({}, more)).markOf(revision("ProviderRevision", spec));
  expect(markOf(cached(CONFIG["DeploymentRuntimeConfig/small"], authority))).toBe(named?.mark);
  expect(markOf(cached(undefined, authority))).toBe(own?.mark);
  const next = await createAuthority(NOW);
  const renewed = { data: { "tls.crt": encode(next.cert), "tls.key": encode(next.key) } };
  expect([own?.mark, undefined]).not.toContain(markOf(cached(undefined, renewed)));
  expect(markOf(cached(undefined, undefined))).toBeUndefined();
  expect(markOf({})).toBeUndefined();
});

test("a Service of another object is not that of the runtime, even if the DeploymentRuntimeConfig names it", async () => {
  const runtime = (await webhookServices(contextWith({})).of(revision("ProviderRevision"), signal))?.name ?? "";
  const owner = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "ProviderRuntime", uid: "runtime", controller: true };
  const of = (reference: object) =>
    webhookServices(contextWith({ ...CONFIG, "Service/hooks": service(reference) })).of(
      revision("ProviderRevision", REF),
      signal,
    );
  expect(await of({ ...owner, name: runtime })).toMatchObject({ name: "hooks" });
  for (const reference of [{ ...owner, name: "other" }, { ...owner, kind: "Namespace", name: runtime }, {}])
    await expect(of(reference)).rejects.toMatchObject({ code: "NameTaken" });
});

test("nothing serves webhooks of a Function, or without runtimes", async () => {
  expect(await webhookServices(contextWith({})).of(revision("FunctionRevision"), signal)).toBeUndefined();
  const without = contextWith({}, { functionRuntimes: false });
  expect(await webhookServices(without).of(revision("ProviderRevision"), signal)).toBeUndefined();
});
