import { type Client, type LiveObject, type ResourceKind, WorkerSlots } from "@xfn/kubernetes";
import { afterEach, expect, test } from "vitest";
import { object, settle } from "../../testing/engine-stage.ts";
import { fakeInformers } from "../../testing/fake-informers.ts";
import {
  FUNCTION_REVISIONS,
  FUNCTION_RUNTIMES,
  FUNCTIONS,
  IMAGE_CONFIGS,
  PROVIDER_REVISIONS,
  PROVIDER_RUNTIMES,
  PROVIDERS,
  REVISIONS,
} from "../objects/kinds.ts";
import { LABEL_SOURCE } from "../objects/labels.ts";
import type { EngineContext } from "./kind-controller.ts";
import { PackageControllers } from "./package-controllers.ts";

// The objects that are reconciled when a Function, its revision or a runtime changes.

const owner = (kind: ResourceKind, name: string, controller = true): object => ({
  apiVersion: `${kind.group}/${kind.version}`,
  kind: kind.kind,
  name,
  uid: `uid-${name}`,
  controller,
});

const compositionRevision = (name: string, functionRef: object): LiveObject => {
  const compositeTypeRef = { apiVersion: "example.org/v1", kind: "XApp" };
  const spec = { compositeTypeRef, pipeline: [{ step: "a", functionRef }] };
  const composition = { apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition", name: `of-${name}` };
  return object(REVISIONS, name, { spec }, { ownerReferences: [{ ...composition, uid: "c", controller: true }] });
};

let controllers: PackageControllers | undefined;

afterEach(async () => {
  await controllers?.stop();
});

async function stage() {
  const informers = fakeInformers();
  // The engine does this too.
  informers.acquire(REVISIONS);
  const seen: string[] = [];
  const quiet = (): void => undefined;
  const context: EngineContext = {
    client: {} as unknown as Client,
    informers,
    events: { record: quiet, flush: () => Promise.resolve() },
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    namespace: "xfn",
    pollIntervalMs: 60_000,
  };
  const reconciler = (kind: string) => async (key: string) => void seen.push(`${kind} ${key}`);
  const reconcilers = {
    packages: [
      {
        kind: FUNCTIONS,
        revisionKind: FUNCTION_REVISIONS,
        package: reconciler("function"),
        revision: reconciler("functionRevision"),
      },
      {
        kind: PROVIDERS,
        revisionKind: PROVIDER_REVISIONS,
        package: reconciler("provider"),
        revision: reconciler("providerRevision"),
      },
    ],
    providerRuntime: reconciler("providerRuntime"),
    functionRuntime: reconciler("functionRuntime"),
    compositionRevision: reconciler("compositionRevision"),
  } as unknown as ConstructorParameters<typeof PackageControllers>[0]["reconcilers"];
  controllers = new PackageControllers(
    { context, slots: new WorkerSlots(8), observer: undefined, reconcilers },
    ({ metadata }) => void seen.push(`users of ${metadata.name}`),
  );
  informers.put(REVISIONS, compositionRevision("by-name", { name: "fn" }));
  informers.put(REVISIONS, compositionRevision("by-package", { package: "registry.example.org/fn:v1" }));
  informers.put(FUNCTIONS, object(FUNCTIONS, "fn"));
  await settle();
  seen.length = 0;
  return { informers, seen };
}

test("a changed revision reconciles its Function and the XRs whose Compositions name it", async () => {
  const { informers, seen } = await stage();
  informers.put(
    FUNCTION_REVISIONS,
    object(FUNCTION_REVISIONS, "fn-1", {}, { ownerReferences: [owner(FUNCTIONS, "fn")] }),
  );
  await settle();
  expect(seen.toSorted()).toEqual([
    "compositionRevision by-name",
    "function fn",
    "functionRevision fn-1",
    "users of by-name",
  ]);
});

test("a changed runtime reconciles its owners, and the XRs of their Compositions", async () => {
  const { informers, seen } = await stage();
  const ownerReferences = [owner(REVISIONS, "by-package", false), owner(FUNCTION_REVISIONS, "fn-1", false)];
  const labels = { [LABEL_SOURCE]: "digest" };
  informers.put(FUNCTION_RUNTIMES, object(FUNCTION_RUNTIMES, "runtime", {}, { ownerReferences, labels }));
  await settle();
  expect(seen.toSorted()).toEqual([
    "compositionRevision by-package",
    "functionRevision fn-1",
    "functionRuntime runtime",
    "users of by-package",
  ]);
});

test("a changed Secret of a provider's runtime reconciles its revision, whose webhooks name the authorities", async () => {
  const { informers, seen } = await stage();
  for (const name of ["p-1", "q-1"]) informers.put(PROVIDER_REVISIONS, object(PROVIDER_REVISIONS, name));
  const ownerReferences = [owner(PROVIDER_REVISIONS, "p-1", false)];
  informers.put(PROVIDER_RUNTIMES, object(PROVIDER_RUNTIMES, "runtime", {}, { ownerReferences }));
  await settle();
  seen.length = 0;
  controllers?.enqueueRuntime("ProviderRuntime", "runtime");
  await settle();
  expect(seen.toSorted()).toEqual(["providerRevision p-1", "providerRuntime runtime"]);
  seen.length = 0;
  // The Secret of the authority belongs to no runtime.
  controllers?.enqueueRuntime();
  await settle();
  expect(seen.toSorted()).toEqual(["providerRevision p-1", "providerRevision q-1", "providerRuntime runtime"]);
});

test("a runtime that a user created reconciles all revisions: it has no owners", async () => {
  const { informers, seen } = await stage();
  const ownerReferences = [owner(FUNCTIONS, "fn")];
  informers.put(FUNCTION_REVISIONS, object(FUNCTION_REVISIONS, "fn-1", {}, { ownerReferences }));
  await settle();
  seen.length = 0;
  informers.put(FUNCTION_RUNTIMES, object(FUNCTION_RUNTIMES, "runtime"));
  await settle();
  expect(seen.toSorted()).toEqual([
    "compositionRevision by-name",
    "compositionRevision by-package",
    "functionRevision fn-1",
    "functionRuntime runtime",
  ]);
});

test.each(["appears", "goes"])(
  "an ImageConfig that %s reconciles the XRs whose Compositions call packages",
  async (what) => {
    const { informers, seen } = await stage();
    const spec = { matchImages: [{ prefix: "registry.example.org/" }], registry: {} };
    const put = (): void => informers.put(IMAGE_CONFIGS, object(IMAGE_CONFIGS, "mirror", { spec }));
    if (what === "goes") {
      put();
      await settle();
      seen.length = 0;
      informers.remove(IMAGE_CONFIGS, "mirror");
    } else put();
    await settle();
    expect(seen).toEqual(expect.arrayContaining(["users of by-name", "users of by-package"]));
  },
);

test("a deleted Function reconciles the XRs that name it", async () => {
  const { informers, seen } = await stage();
  informers.remove(FUNCTIONS, "fn");
  await settle();
  expect(seen).toContain("users of by-name");
});
