import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { type FunctionsInput, stepFunctions } from "./step-functions.ts";

const TAG = "registry.example.org/fns/greeting:v1";

function liveObject(kind: string, name: string, rest: JsonObject): LiveObject {
  return { apiVersion: "pkg.crossplane.io/v1", kind, metadata: { name, uid: name, resourceVersion: "1" }, ...rest };
}

/** The packages that the runner receives if an ImageConfig requires a signature and a revision has an image. */
async function packagesOf(image: string): Promise<string[]> {
  const revision = liveObject("FunctionRevision", "greeting-1", {
    spec: { image, desiredState: "Active", revision: 1 },
    status: { conditions: ["RevisionHealthy", "RuntimeHealthy"].map((type) => ({ type, status: "True" })) },
  });
  const owner = { apiVersion: "pkg.crossplane.io/v1", kind: "Function", name: "greeting", uid: "greeting" };
  const labels = { "pkg.crossplane.io/package": "greeting" };
  Object.assign(revision.metadata, { labels, ownerReferences: [{ ...owner, controller: true }] });
  const spec = { matchImages: [{ prefix: "registry.example.org/" }], verification: { provider: "Cosign" } };
  const objects = [revision, liveObject("Function", "greeting", {}), liveObject("ImageConfig", "signed", { spec })];
  const asked: string[] = [];
  const context = {
    informers: {
      peek: ({ kind }: { kind: string }) => ({
        get: (name: string) => objects.find((one) => one.kind === kind && one.metadata.name === name),
        list: () => objects.filter((one) => one.kind === kind),
      }),
    },
    functions: { names: [], byName: () => undefined, byPackage: (reference: string) => void asked.push(reference) },
    functionPackages: true,
  } as unknown as FunctionsInput;
  const connector = stepFunctions(context, liveObject("CompositionRevision", "one", {}), async () => undefined);
  await connector.connect({ name: "greet", functionRef: { name: "greeting" } } as never);
  return asked;
}

test("a Function that is not made for Compositions is refused before a step runs, unless the operator replaces it", () => {
  const labels = { "pkg.crossplane.io/package": "greeting" };
  const revision = liveObject("FunctionRevision", "greeting-1", {
    spec: { desiredState: "Active" },
    status: { capabilities: ["operation"] },
  });
  Object.assign(revision.metadata, { labels });
  const connect = (names: string[], functionPackages = true) =>
    stepFunctions(
      {
        informers: { peek: () => ({ list: () => [revision] }) },
        functions: { names },
        functionPackages,
      } as unknown as FunctionsInput,
      liveObject("CompositionRevision", "one", { spec: { pipeline: [{ functionRef: { name: "greeting" } }] } }),
      async () => undefined,
    );
  expect(() => connect([])).toThrow(
    "the CompositionRevision one does not have a valid pipeline: the Function greeting (revision greeting-1) lacks",
  );
  expect(connect(["greeting"])).toBeDefined();
  expect(connect([], false)).toBeDefined();
});

test("an image that must be signed by an ImageConfig runs by the verified digest, and never by a tag", async () => {
  const digest = `${TAG}@sha256:${"a".repeat(64)}`;
  expect(await packagesOf(digest)).toEqual([digest]);
  await expect(packagesOf(TAG)).rejects.toMatchObject({
    code: "FunctionNotReady",
    message: expect.stringContaining(`the ImageConfig signed requires a signature of ${TAG}, a tag that`) as string,
  });
});
