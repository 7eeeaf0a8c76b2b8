import { createHash } from "node:crypto";
import {
  compositionRevisionReconciler,
  functionRuntimeReconciler,
  lockReconciler,
  PACKAGES,
  type PackageRegistry,
  packagePort,
  packageReconciler,
  packageRevisionReconciler,
  type ReconcilerOptions,
} from "@xfn/controller";
import { type JsonObject, objectAt, textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { ImageError } from "@xfn/oci-rootfs";
import { PackageError, parsePackage, SignatureError } from "@xfn/package";
import { type MemoryClient, memoryClient } from "./memory-client.ts";

export const SOURCE = "registry.example.org/fns/greeting:v1";
export const digestOf = (letter: string): string => `sha256:${letter.repeat(64)}`;
/** @param generation of the Function */
export const revisionName = (letter: string, generation = 1): string =>
  `greeting-${createHash("sha256")
    .update(`${letter.repeat(64)}|${generation}`)
    .digest("hex")
    .slice(0, 12)}`;

/** @param more - further fields of the spec, such as `, a: b` */
export const META = (kind = "Function", more = ""): string =>
  `apiVersion: meta.pkg.crossplane.io/v1\nkind: ${kind}\nmetadata: { name: a }\nspec: { capabilities: [composition]${more} }\n`;

const numberOf = (revision: LiveObject): number => Number(objectAt(revision, "spec")["revision"]);

/** Packages with a registry and an API server in memory. */
export interface PackageWorld {
  readonly client: MemoryClient;
  readonly events: string[];
  /** Requests to the registry. */
  readonly asked: string[];
  /** Digests by reference, and contents of `package.yaml` by digest. */
  readonly registry: {
    tags: Record<string, string>;
    /** Tags of other packages, by repository. */
    versions: Record<string, readonly string[]>;
    contents: Record<string, string | undefined>;
    down: boolean;
    /** Digests with a signature of any key. */
    signed: Set<string>;
    /** The trusted root of Sigstore. */
    root: Buffer | undefined;
  };
  runnerDown: boolean;
  /** The time of the controller, in milliseconds. */
  time: number;
  settle(): Promise<string[]>;
  fn(): LiveObject;
  /** The newest revision with a digest. */
  revision(letter: string): LiveObject | undefined;
  change(spec: JsonObject): void;
}

/** @param spec of the Function */
export function packageWorld(spec: JsonObject = {}, more: Partial<ReconcilerOptions> = {}): PackageWorld {
  const fn: LiveObject = {
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Function",
    metadata: { name: "greeting", uid: "fn-uid", resourceVersion: "1", generation: 1 },
    spec: { package: SOURCE, packagePullPolicy: "IfNotPresent", revisionHistoryLimit: 1, ...spec },
  };
  const client = memoryClient([fn]);
  const events: string[] = [];
  const asked: string[] = [];
  const registry: PackageWorld["registry"] = {
    tags: { [SOURCE]: digestOf("a") },
    versions: {},
    contents: {},
    down: false,
    signed: new Set(),
    root: undefined,
  };
  const answer = <T>(what: string, value: T | undefined): T => {
    asked.push(what);
    if (registry.down) throw new ImageError("RegistryUnavailable", "connection refused", { retryable: true });
    if (value === undefined) throw new ImageError("NotFound", "the registry has no such tag");
    return value;
  };
  const packages: PackageRegistry = {
    digestOf: async (reference) => answer(`resolve ${reference}`, registry.tags[reference]),
    versions: async (source) => answer(`versions ${source}`, registry.versions[source] ?? []),
    verify: async ({ image }) => {
      answer("verify", image);
      if (!registry.signed.has(image.split("@")[1] ?? "")) throw new SignatureError("Missing", `${image} is unsigned`);
    },
    trustedRoot: async () => registry.root,
    read: async (reference, kind) => {
      const { text } = answer("read", { text: registry.contents[reference.split("@")[1] ?? ""] ?? META() });
      if (text !== "") return await parsePackage(Buffer.from(text), { package: reference, kind });
      throw new PackageError("NoPackageFile", "has no package.yaml", { package: reference, remedy: "build it again" });
    },
  };
  const objectOf = (kind: string, name: string): LiveObject | undefined =>
    [...client.objects.values()].find((one) => one.kind === kind && one.metadata.name === name);
  const theFunction = (): LiveObject => {
    const object = objectOf("Function", "greeting");
    if (object === undefined) throw new Error("the Function is gone");
    return object;
  };
  const state: PackageWorld = {
    client,
    events,
    asked,
    registry,
    runnerDown: false,
    time: 0,
    settle,
    fn: theFunction,
    revision: (letter) =>
      [...client.objects.values()]
        .filter(({ kind, spec }) => kind === "FunctionRevision" && textAt(spec, "image")?.endsWith(digestOf(letter)))
        .toSorted((a, b) => numberOf(a) - numberOf(b))
        .at(-1),
    change: (fields) => {
      const object = theFunction();
      object["spec"] = { ...(object["spec"] as JsonObject), ...fields };
      object.metadata["generation"] = Number(object.metadata["generation"]) + 1;
    },
  };
  const context: ReconcilerOptions = {
    client,
    informers: {
      acquire: () => {
        throw new TypeError("not needed");
      },
      peek: ({ kind }) => ({
        get: (name) => objectOf(kind, name),
        list: () => [...client.objects.values()].filter((one) => one.kind === kind),
        byIndex: () => [],
      }),
      stop: async () => {},
    },
    events: {
      record: (_, { type, reason, message }) => void events.push(`${type} ${reason}: ${message}`),
      flush: async () => {},
    },
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    packages,
    functionHost: {
      endpoint: "unix:/run/xfn/runner.sock",
      ready: async () => {
        if (state.runnerDown) throw new Error("no runner answers at unix:/run/xfn/runner.sock");
      },
    },
    namespace: "xfn-system",
    pullSecretNamespaces: [],
    pollIntervalMs: 60_000,
    now: () => state.time,
    ...more,
  };
  const port = packagePort(context);
  const reconcile = packageReconciler(port, PACKAGES.Function);
  const others: Readonly<Record<string, ReturnType<typeof packageReconciler>>> = {
    FunctionRevision: packageRevisionReconciler(port, PACKAGES.Function),
    Configuration: packageReconciler(port, PACKAGES.Configuration),
    ConfigurationRevision: packageRevisionReconciler(port, PACKAGES.Configuration),
    Provider: packageReconciler(port, PACKAGES.Provider),
    ProviderRevision: packageRevisionReconciler(port, PACKAGES.Provider),
    Lock: lockReconciler(port),
    FunctionRuntime: functionRuntimeReconciler(port),
    CompositionRevision: compositionRevisionReconciler(port),
  };
  const versions = (): string =>
    [...client.objects.values()].map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).join();
  /** Reconciles until nothing is written any more. @returns the messages of failed reconciles of the last pass */
  async function settle(): Promise<string[]> {
    const { signal } = new AbortController();
    for (let pass = 0; pass < 10; pass++) {
      const before = versions();
      const failures: string[] = [];
      const note = (error: Error): undefined => void failures.push(error.message);
      await reconcile("greeting", signal).catch(note);
      for (const { kind, metadata } of client.objects.values()) await others[kind]?.(metadata.name, signal).catch(note);
      if (versions() === before) return failures;
    }
    throw new Error(`it does not settle: ${client.writes.map(({ object }) => object).join(", ")}`);
  }
  return state;
}
