import {
  ANNOTATION_RESOURCE_NAME,
  type Composition,
  checkConnectionKeys,
  type Finding,
  parseComposition,
} from "@xfn/composition";
import { applyDefaults } from "@xfn/composition/definition";
import { isObject, type JsonObject, type JsonValue, listAt } from "@xfn/json";
import type { FunctionRunner } from "@xfn/runner-contract";
import { type Replay } from "../recording/index.ts";
import type { PipelineInput } from "../steps/pipeline-input.ts";
import { PackageContainers } from "./package-containers.ts";
import { replayOf } from "./recorded.ts";
import { schemasOf } from "./schemas.ts";
import { folderOf, isUrl, plain, readKind, readObject, readSource, type Source } from "./source.ts";
import { callersFor, type TestFunction } from "./test-functions.ts";
import { connectorFor, type TestPackage } from "./test-packages.ts";
import { TestingError } from "./testing-error.ts";

/** The input of a test. See {@link Source} for the forms of documents. */
export interface TestInput {
  /** The XR. */
  composite: Source;
  /** The Composition. The source can contain other documents too. */
  composition: Source;
  /**
   * The XR's CompositeResourceDefinition. Its defaults are applied, as in an API server. The Composition's connection
   * details are compared with its keys after the run; problems become findings.
   */
  definition?: Source;
  /**
   * CustomResourceDefinitions and CompositeResourceDefinitions, with which steps of `schema: Strict` are compared. The
   * schema of a kind that none of them has is not known, so its objects are not checked.
   */
  schemas?: Source | readonly Source[];
  /** The functions that replace the steps' containers and webhooks, by step name, image or URL. */
  functions?: Readonly<Record<string, TestFunction>>;
  /** The runner of all other steps, such as `createRunner` of @xfn/runner for real containers. */
  runner?: FunctionRunner;
  /**
   * Composed resources that exist: by entry name, or as documents with the annotation
   * `crossplane.io/composition-resource-name`, as printed by `kubectl get -o yaml`.
   */
  observed?: Readonly<Record<string, object>> | string | URL | readonly Source[];
  /** The EnvironmentConfigs that the Composition selects from. */
  environmentConfigs?: string | URL | readonly Source[];
  /**
   * The `Function` documents with the packages of `mode: Pipeline`, which run in containers, as with `xfn render`. A
   * step that names its package in `functionRef.package` needs none.
   */
  functionPackages?: Source | readonly Source[];
  /** The functions that replace the packages of `mode: Pipeline`, by step name or by the name of the Function. */
  packages?: Readonly<Record<string, TestPackage>>;
  /** Finds the objects and schemas that packages require. Default: none exist. */
  required?: PipelineInput["required"];
  /** The context of the first step of `mode: Pipeline`. */
  context?: JsonObject;
  /**
   * The folder of a recording (`xfn render --record`), whose outputs replace all functions. The render fails if a step
   * gets another input than the recorded one.
   */
  recording?: URL;
  /** Aborts the run. */
  signal?: AbortSignal;
}

/** A parsed and checked input. */
export interface Prepared {
  composite: JsonObject;
  composition: Composition;
  observed: JsonValue[];
  environmentConfigs: JsonValue[];
  runner: FunctionRunner;
  findings: Finding[];
  /** Findings about the definition's connection keys, after a run in which functions exposed these. */
  keyFindings: (exposed: readonly string[]) => readonly Finding[];
  /** The connections of the run, and the inputs of function packages. */
  pipeline: Pick<PipelineInput, "functions" | "webhooks" | "required" | "schemas" | "context" | "credentials">;
  /** Replaces all functions. */
  replay: Replay | undefined;
  signal: AbortSignal | undefined;
  /** Ends the containers of the run. */
  close: () => Promise<void>;
}

/** Reads a test's input. Runs nothing. */
export function prepare(input: TestInput): Prepared {
  const findings: Finding[] = [];
  const definition = input.definition === undefined ? undefined : readDefinition(input.definition);
  const given = readObject(input.composite, "composite");
  const composite = definition === undefined ? given : applyDefaults(definition, given);
  const document = readKind(input.composition, "Composition", "composition");
  const composition = parseComposition(document, { onWarning: (finding) => findings.push(finding) });
  const keys = definition === undefined ? [] : connectionKeys(definition);
  const keyFindings = (exposed: readonly string[]): readonly Finding[] =>
    checkConnectionKeys(composition, keys, document, exposed);
  const replay = replayOf(input);
  const { packages = {}, functionPackages = [], required, context, signal } = input;
  const folder = folderOf(input.composition);
  const containers = new PackageContainers(functionPackages, { folder, runner: input.runner });
  const { runner, ...callers } = replay?.callers(composition) ?? {
    ...callersFor({
      composition,
      functions: input.functions ?? {},
      runner: input.runner,
      folder,
    }),
    functions: connectorFor(composition, packages, containers, signal),
  };
  const schemas = input.schemas === undefined ? undefined : schemasOf(input.schemas);
  const pipeline = {
    ...callers,
    ...(required && { required }),
    ...(schemas && { schemas }),
    ...(context && { context }),
  };
  const observed = readObserved(input.observed ?? [], composite);
  const environmentConfigs = readSource(input.environmentConfigs ?? [], "environmentConfigs").map(({ value }) => value);
  return {
    composite,
    composition,
    observed,
    environmentConfigs,
    runner,
    findings,
    keyFindings,
    pipeline,
    replay,
    signal,
    close: async () => await containers.close(),
  };
}

function readDefinition(source: Source): JsonObject {
  return readKind(source, "CompositeResourceDefinition", "definition").value as JsonObject;
}

function connectionKeys(definition: JsonObject): string[] {
  return listAt(definition, "spec", "connectionSecretKeys").filter((key) => typeof key === "string");
}

function readObserved(observed: NonNullable<TestInput["observed"]>, composite: JsonObject): JsonValue[] {
  if (typeof observed === "string" || Array.isArray(observed) || isUrl(observed)) {
    return readSource(observed, "observed").map(({ value }) => value);
  }
  return Object.entries(observed).map(([name, resource]) => existing(name, resource, composite));
}

/** An observed resource that the test names by entry. Adds the annotation and a name, as in an API server. */
function existing(entry: string, resource: unknown, composite: JsonObject): JsonObject {
  if (typeof resource !== "object" || resource === null) {
    throw new TestingError(
      "InvalidInput",
      `observed.${entry} is not an object; observed is an object of resources by entry name, or a list of resources`,
    );
  }
  const object = plain(resource, `observed.${entry}`);
  const metadata = isObject(object["metadata"]) ? object["metadata"] : {};
  const annotations = isObject(metadata["annotations"]) ? metadata["annotations"] : {};
  const owner = isObject(composite["metadata"]) ? composite["metadata"]["name"] : undefined;
  return {
    ...object,
    metadata: {
      name: `${typeof owner === "string" ? owner : "composite"}-${entry}`,
      ...metadata,
      annotations: { ...annotations, [ANNOTATION_RESOURCE_NAME]: entry },
    },
  };
}
