import { someOf } from "@xfn/errors";
import type { FunctionCaller } from "@xfn/function-grpc";
import type { LiveObject } from "@xfn/kubernetes";
import type { FunctionConnector } from "@xfn/pipeline";
import { CompositeError } from "../objects/composite-error.ts";
import type { FunctionDirectory, PackageUse } from "../objects/context.ts";
import { REVISIONS } from "../objects/kinds.ts";
import type { Reader } from "../objects/read-objects.ts";
import { isLayout } from "../package/pinned-packages.ts";
import { imageSettings } from "../package/registry/image-configs.ts";
import { missingCapability } from "../package/valid-pipeline.ts";
import { activePackage } from "./active-function.ts";
import { runtimePackage } from "./runtime-of-step.ts";

/** The number of Functions that a message names. */
const MAX_NAMED = 10;

/** The data with which the steps of a run find their functions. */
export interface FunctionsInput extends Reader {
  /** The function packages of `mode: Pipeline`. Absent: functions are disabled. */
  readonly functions?: FunctionDirectory | undefined;
  /** Whether steps can name Functions of the API server (`--enable-packages`). Default: false. */
  readonly functionPackages?: boolean | undefined;
  /**
   * Whether each version of a function named by steps or Functions has a FunctionRuntime
   * (`--enable-function-runtimes`). Default: false.
   */
  readonly functionRuntimes?: boolean | undefined;
  /** The controller's own namespace. */
  readonly namespace: string;
}

/**
 * Connects the steps of a run to their functions. The connections belong to the process, and stay open. The operator's
 * `--function` wins over a Function of the API server.
 *
 * @param revision the CompositionRevision that runs
 * @param authOf finds the credentials for the registry of a step's package, first in pull secrets with these names
 * @throws {CompositeError} `FunctionNotReady` if a Function is not made for Compositions, before any step runs
 */
export function stepFunctions(
  input: FunctionsInput,
  revision: LiveObject,
  authOf: (step: string, image: string, secrets: readonly string[]) => ReturnType<PackageUse["auth"]>,
): FunctionConnector {
  const { functions, functionPackages = false, functionRuntimes = false } = input;
  if (functionPackages) requireCapabilities(input, revision);
  const deployed = async (image: string): Promise<FunctionCaller | undefined> => {
    // Loaded with the first runtime, because its modules parse references to images.
    const { deployedFunction } = await import("../runtime/deployed-function.ts");
    const found = await deployedFunction(input, image);
    return found && functions?.byEndpoint(image, found);
  };
  return {
    async connect({ name: step, functionRef }) {
      if (functions === undefined) {
        const message = "functions are disabled; start the controller with --enable-composition-functions";
        throw new CompositeError("FunctionsDisabled", message);
      }
      const useWith = (secrets: readonly string[]): PackageUse => ({
        step,
        auth: async (image) => await authOf(step, image, secrets),
      });
      const packaged = (image: string, secrets: readonly string[]): FunctionCaller => {
        const settings = imageSettings(input, image);
        const configured = settings.pullSecret === undefined ? [] : [settings.pullSecret];
        return functions.byPackage(settings.image, useWith([...secrets, ...configured]));
      };
      if (functionRef.name === undefined) {
        const { package: reference } = functionRef;
        if (isLayout(reference)) return packaged(reference, []);
        const image = await runtimePackage(input, revision, reference);
        return (await deployed(image)) ?? packaged(image, []);
      }
      const caller = functions.byName(functionRef.name, useWith([]));
      if (caller !== undefined) return caller;
      if (functionPackages) {
        const { image, pullSecrets } = await activePackage(input, functionRef.name);
        const { verification } = imageSettings(input, image);
        // Revisions that Crossplane created contain a tag, which the runner would resolve again.
        if (verification !== undefined && !image.includes("@"))
          throw new CompositeError("FunctionNotReady", withoutDigest(image, verification.config, functionRef.name));
        return (functionRuntimes ? await deployed(image) : undefined) ?? packaged(image, pullSecrets);
      }
      throw new CompositeError("FunctionNotFound", unknownFunction(functionRef.name, functions.names));
    },
  };
}

function requireCapabilities(input: FunctionsInput, revision: LiveObject): void {
  const named = REVISIONS.of(revision).spec.pipeline.flatMap(({ functionRef: { name } }) => name ?? []);
  const installed = named.filter((name) => !input.functions?.names.includes(name));
  const missing = missingCapability(input, installed, "composition");
  if (missing === undefined) return;
  const message = `the CompositionRevision ${revision.metadata.name} does not have a valid pipeline: ${missing}`;
  throw new CompositeError("FunctionNotReady", message);
}

function withoutDigest(image: string, config: string, name: string): string {
  return (
    `the ImageConfig ${config} requires a signature of ${image}, a tag that can name another package when it runs; ` +
    `activate a revision of the Function ${name} whose spec.image has a digest`
  );
}

function unknownFunction(name: string, known: readonly string[]): string {
  const list = known.length === 0 ? "none" : someOf(known, MAX_NAMED);
  return (
    `the controller knows no Function ${name} (it knows: ${list}); start it with --function ${name}=ENDPOINT or ` +
    `--function ${name}=PACKAGE, or name the package in the step's functionRef.package`
  );
}
