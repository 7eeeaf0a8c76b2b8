import type {
  Composition,
  CompositionFunction,
  FunctionForm,
  NetworkPolicy,
  PackageStep,
  PullPolicy,
  RequiredResource,
  Step,
} from "./composition.ts";

// The properties of steps, so that programs need not test their types. A new type changes only this file and the module
// that calls its functions.

/** The part of a Composition that contains its steps. */
type WithSteps = Pick<Composition, "spec">;

/** A Secret that a step passes to its function. */
export interface StepSecret {
  readonly secretRef: { readonly namespace: string; readonly name: string };
  /** The name by which the input of the function has its data. Absent: the Secret is not a part of the input. */
  readonly name?: string | undefined;
}

/** The properties of a step in which types differ. */
export interface StepTraits {
  /** The caller of the function: a runner, a connection to its gRPC server, or an HTTPS client. */
  readonly caller: "runner" | "functions" | "webhooks";
  /** The target of the call, for messages: an image, the name of a Function, or a URL. */
  readonly target: string;
  /** The image to run, as the Composition names it. Absent: the step names a Function object or a server. */
  readonly image?: string | undefined;
  /** The name of the Function object to call. */
  readonly functionName?: string | undefined;
  /** The address of the runner to use. Absent: that of the program. */
  readonly endpoint?: string | undefined;
  /** The network of a function that a runner starts. */
  readonly isolation?: NetworkPolicy | undefined;
  /** The form of the function's input and output. Absent: the messages of function packages. */
  readonly form?: FunctionForm | undefined;
  /** The Secrets whose data the step sends. */
  readonly secrets: readonly StepSecret[];
  /** The resources that the function receives with its first call. */
  readonly requires: readonly RequiredResource[];
}

/** The change of a step's image by {@link mapImages}. Absent fields keep their values. */
export interface ImageChange {
  readonly image?: string | undefined;
  /** Packages have no pull policy in a Composition. */
  readonly imagePullPolicy?: PullPolicy | undefined;
}

/**
 * Whether desired state is a complete statement, as function packages make it (`mode: Pipeline`). Otherwise, steps
 * add to what templates desire.
 */
export function isComplete({ spec }: WithSteps): boolean {
  return spec.mode === "Pipeline";
}

/** The steps that compose, in order, whether they are written in `functions` or in `pipeline`. */
export function stepsOf(composition: WithSteps): readonly Step[] {
  const { pipeline = [], functions } = composition.spec;
  return isComplete(composition) ? pipeline : functions;
}

/** The steps that call function packages. */
export function packageStepsOf(composition: WithSteps): readonly PackageStep[] {
  return stepsOf(composition).filter((step) => step.type === "Package");
}

/** Whether composing calls functions. Templates alone do not. */
export function callsFunctions(composition: WithSteps): boolean {
  return isComplete(composition) || stepsOf(composition).length > 0;
}

/** The properties of a step. */
export function traitsOf(step: Step): StepTraits {
  switch (step.type) {
    case "Package": {
      const { functionRef, credentials, requirements } = step;
      const { name: functionName, package: image } = functionRef;
      return {
        caller: "functions",
        target: functionName ?? image,
        functionName,
        image,
        isolation: "Isolated",
        secrets: credentials,
        requires: requirements.resources,
      };
    }
    case "Container":
    case "Chroot":
    case "Wasm": {
      const { image, network, runner } = step.container;
      return {
        caller: "runner",
        target: image,
        image,
        endpoint: runner.endpoint,
        isolation: network,
        form: step.io ?? "FunctionIO",
        secrets: [],
        requires: [],
      };
    }
    case "Webhook": {
      const { url, credentials } = step.webhook;
      const secrets = credentials === undefined ? [] : [credentials];
      return { caller: "webhooks", target: url, form: step.io ?? "FunctionIO", secrets, requires: [] };
    }
  }
}

/**
 * Returns a Composition with other images. The rest of each step stays.
 *
 * @param change - called with each image that a step names; undefined keeps the step
 */
export function mapImages(
  composition: Composition,
  change: (image: string, step: Step) => ImageChange | undefined,
): Composition {
  const { functions, pipeline } = composition.spec;
  const withContainer = (step: CompositionFunction): CompositionFunction => {
    if (step.type === "Webhook") return step;
    const { image = step.container.image, imagePullPolicy = step.container.imagePullPolicy } =
      change(step.container.image, step) ?? {};
    return { ...step, container: { ...step.container, image, ...(imagePullPolicy && { imagePullPolicy }) } };
  };
  const withPackage = (step: PackageStep): PackageStep => {
    const { package: given } = step.functionRef;
    if (given === undefined) return step;
    return { ...step, functionRef: { package: change(given, step)?.image ?? given } };
  };
  const spec = {
    ...composition.spec,
    functions: functions.map(withContainer),
    ...(pipeline && {
      pipeline: pipeline.map((step) => (step.type === "Package" ? withPackage(step) : withContainer(step))),
    }),
  };
  return { ...composition, spec };
}
