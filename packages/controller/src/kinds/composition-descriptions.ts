import type { Descriptions } from "@xfn/composition/definition";
import { referenceTo, within } from "./describe.ts";

// docs/reference/composition.md and docs/reference/steps.md describe these fields at length.

const COMBINE: Descriptions = {
  strategy: "is how the values are combined: string, the only one.",
  variables: "are the fields to combine.",
  "variables.fromFieldPath": "is the path of the field.",
  string: "combines the values into a string.",
  "string.fmt": "is the format, in the syntax of Go's fmt.",
};

const MATCH: Descriptions = {
  patterns: "are compared in order. The first that matches gives the result.",
  "patterns.type": "is how the pattern is compared: literal, the default, or regexp.",
  "patterns.literal": "is the string that the input must be.",
  "patterns.regexp": "is a regular expression in Go's syntax (RE2), which matches anywhere in the input.",
  "patterns.result": "is the result of the pattern: any value.",
  fallbackValue: "is the result if no pattern matches.",
  fallbackTo: "determines the result if no pattern matches: fallbackValue (Value) or the input (Input).",
};

const STRING: Descriptions = {
  type: "is the operation. Defaults to Format.",
  fmt: "is the format of type Format, in the syntax of Go's fmt.",
  convert: "is the conversion of type Convert.",
  trim: "is the text that TrimPrefix or TrimSuffix removes.",
  regexp: "finds a part of the string, with type Regexp.",
  "regexp.match": "is a regular expression in Go's syntax (RE2).",
  "regexp.group": "is the number of the capturing group to return. 0, the default, is the whole match.",
  join: "joins the items of a list, with type Join.",
  "join.separator": "is the text between two items.",
  replace: "replaces a text, with type Replace.",
  "replace.search": "is the text to replace, wherever it is.",
  "replace.replace": "is the new text. Defaults to the empty string.",
};

const TRANSFORMS: Descriptions = {
  type: "is the type of the transform.",
  map: "has the results by input. Every input must have one.",
  ...within("match", "compares the input with patterns.", MATCH),
  math: "calculates with a number.",
  "math.type": "is the operation. Defaults to Multiply.",
  "math.multiply": "is the factor.",
  "math.clampMin": "is the least result.",
  "math.clampMax": "is the greatest result.",
  ...within("string", "changes a string.", STRING),
  convert: "converts the input to another type.",
  "convert.toType": "is the type of the result.",
  "convert.format": "is that of the input: quantity for float64, json for object and array. Defaults to none.",
};

const PATCHES: Descriptions = {
  type: "determines the source and the target of the patch. Defaults to FromCompositeFieldPath.",
  fromFieldPath: "is the path of the field to copy.",
  toFieldPath: "is the path of the field to write. Defaults to fromFieldPath.",
  ...within("combine", "has the values of a Combine patch.", COMBINE),
  patchSetName: "is the name of the patch set whose patches take the place of this one.",
  ...within("transforms", "are applied to the value in order.", TRANSFORMS),
  policy: "determines how the patch treats missing and existing fields.",
  "policy.fromFieldPath": "determines if the source must exist: Required, or Optional, the default.",
  "policy.mergeOptions": "merge the value into the existing one, instead of replacing it.",
  "policy.mergeOptions.keepMapValues": "determines whether existing values of maps win.",
  "policy.mergeOptions.appendSlice": "determines whether items are appended that the existing list lacks.",
};

const TEMPLATES: Descriptions = {
  name: "identifies the composed resource. Either all templates have names or none has.",
  base: "is the object before patches.",
  ...within("patches", "copy values between the composite resource and the composed resource, in order.", PATCHES),
  connectionDetails: "are the values that the composite resource publishes.",
  "connectionDetails.name": "is the key in the connection secret. Defaults to fromConnectionSecretKey.",
  "connectionDetails.type": "is the source of the value. Defaults to that of the field which is set.",
  "connectionDetails.fromConnectionSecretKey": "is a key of the resource's own connection secret.",
  "connectionDetails.fromFieldPath": "is the path of a field of the composed resource.",
  "connectionDetails.value": "is the value itself.",
  readinessChecks: "must all pass for the resource to be ready. Default: the condition Ready is True.",
  "readinessChecks.type": "is the type of the check.",
  "readinessChecks.fieldPath": "is the path of the field to check.",
  "readinessChecks.matchString": "is the text that the field must be.",
  "readinessChecks.matchInteger": "is the integer that the field must be.",
  "readinessChecks.matchCondition": "is the condition that the resource must have.",
  "readinessChecks.matchCondition.type": "is the type of the condition.",
  "readinessChecks.matchCondition.status": "is the status of the condition.",
};

const ENVIRONMENT: Descriptions = {
  defaultData: "is the initial data. EnvironmentConfigs are merged over it.",
  environmentConfigs: "are the EnvironmentConfigs to merge, in order. Later ones win.",
  "environmentConfigs.type": "determines how EnvironmentConfigs are found: Reference, the default, or Selector.",
  "environmentConfigs.ref": "names an EnvironmentConfig.",
  "environmentConfigs.ref.name": "is the name of the EnvironmentConfig.",
  "environmentConfigs.selector": "finds EnvironmentConfigs by their labels.",
  "environmentConfigs.selector.mode": "is Single, the default, for one EnvironmentConfig, or Multiple.",
  "environmentConfigs.selector.maxMatch": "is the most EnvironmentConfigs of mode Multiple that are merged.",
  "environmentConfigs.selector.minMatch": "is the number of EnvironmentConfigs that mode Multiple must find.",
  "environmentConfigs.selector.sortByFieldPath": "is the field that orders them. Defaults to metadata.name.",
  "environmentConfigs.selector.matchLabels": "are the labels that an EnvironmentConfig must have.",
  "environmentConfigs.selector.matchLabels.key": "is the key of the label.",
  "environmentConfigs.selector.matchLabels.type":
    "is the source of the value: FromCompositeFieldPath, the default, or Value.",
  "environmentConfigs.selector.matchLabels.valueFromFieldPath": "is the path of a field of the composite resource.",
  "environmentConfigs.selector.matchLabels.value": "is the value itself.",
  "environmentConfigs.selector.matchLabels.fromFieldPathPolicy":
    "determines if the field must exist. Defaults to Required.",
  ...within(
    "patches",
    "copy values between the composite resource and the environment, before the templates.",
    PATCHES,
  ),
  policy: "determines how EnvironmentConfigs are selected.",
  "policy.resolution": "determines if each reference must be found: Required, the default, or Optional.",
  "policy.resolve": "determines if each reconcile selects anew: Always, or IfNotPresent, the default.",
};

const TIMEOUT = "is the longest time of a call, such as 5s.";

const IMAGE: Descriptions = {
  image: "is the image of the function, with its registry.",
  imagePullPolicy: "determines when the image is pulled. Defaults to IfNotPresent.",
  ...within("imagePullSecrets", "are the Secrets with the credentials for the registry.", referenceTo("Secret")),
  timeout: TIMEOUT,
  runner: "determines which runner runs the function. Defaults to the controller's.",
  "runner.endpoint": "is the address of a runner that --allowed-runners allows.",
  network: "is Isolated, the default, Accessible, or an object whose policy is one of them or Runner.",
  resources: "are the resources of a call.",
  "resources.limits": "are the most that a call can use.",
  "resources.limits.cpu": "is the number of processors, such as 500m.",
  "resources.limits.memory": "is the memory, such as 128Mi.",
  "resources.requests": "are ignored.",
};

const FUNCTION: Descriptions = {
  type: "is how the function runs: Container, Webhook, Wasm, or Chroot, a container without namespaces.",
  ...within("container", "is the image of a function that runs in a container.", IMAGE),
  ...within("wasm", "is the image of a WebAssembly module.", IMAGE),
  webhook: "is the HTTPS server of a function.",
  "webhook.url": "is the https:// URL of the function. Either url or service must be set.",
  ...within("webhook.service", "is the Service of the function.", referenceTo("Service")),
  "webhook.service.path": "is the path of the requests. Defaults to /.",
  "webhook.service.port": "is the port of the Service. Defaults to 443.",
  "webhook.caBundle": "is the certificates that the server's must be signed by: PEM in base64.",
  "webhook.credentials": "authenticate the caller.",
  ...within(
    "webhook.credentials.secretRef",
    "names a Secret, whose key token is the bearer token.",
    referenceTo("Secret"),
  ),
  "webhook.timeout": TIMEOUT,
  config: "is an object that the function receives as its configuration.",
  io: "is what the function reads and writes: FunctionIO, the default, or one of two forms of a ResourceList.",
  cache: "lets the controller use an output again for the same input.",
  "cache.ttl": "is how long an output can be used again, such as 10m. At most 24h.",
  timeout: "is the longest time of the whole step: pull, start, retries and call, such as 30s.",
  retries: "is how often the step is tried again, while its function cannot have started.",
  when: "is a CEL expression over observed and desired. If it is false, the step is skipped.",
  schema: "is Strict if the desired state of the step must match the schemas of its kinds.",
};

const REQUIRED: Descriptions = {
  requirementName: "is the name by which the function knows the requirement.",
  apiVersion: "is the API version of the kind.",
  kind: "is the kind.",
};

/** The fields of a step of an Operation. */
export const PACKAGE_STEPS: Descriptions = {
  step: "is the name of the step.",
  functionRef: "names a function package of Crossplane.",
  "functionRef.name": "is the name of a Function.",
  input: "is an object that the package receives as its input.",
  credentials: "are Secrets that the package receives.",
  "credentials.name": "is the name by which the function knows the credentials.",
  "credentials.source": "is the source of the credentials: None or Secret.",
  ...within("credentials.secretRef", "names the Secret.", referenceTo("Secret")),
  requirements: "are what the package receives in addition to the state.",
  ...within("requirements.requiredResources", "are objects of the cluster, by name or by labels.", REQUIRED),
  "requirements.requiredResources.namespace": "is the namespace of the objects.",
  "requirements.requiredResources.name": "is the name of the object.",
  "requirements.requiredResources.matchLabels": "are the labels of the objects.",
  ...within("requirements.requiredSchemas", "are the schemas of kinds.", REQUIRED),
};

const STEPS: Descriptions = {
  ...FUNCTION,
  ...PACKAGE_STEPS,
  "functionRef.package": "is the image of a package, with a tag or digest.",
};

const TYPE_REFERENCE: Descriptions = {
  apiVersion: "is the API version of the composite resources.",
  kind: "is the kind of the composite resources.",
};

const ROLLOUT: Descriptions = {
  shadow: "composes with a new revision without applying the result, and compares it.",
  "shadow.composites": "is the number of composite resources to compose in shadow.",
  canary: "is the composite resources that get a new revision first.",
  "canary.percent": "is their share of all. Either percent or matchLabels must be set.",
  "canary.matchLabels": "are their labels.",
  analysis: "determines when a rollout has failed.",
  "analysis.duration": "is how long the canary is watched, up to 24h. Defaults to 5m.",
  "analysis.maxFailures": "is the number of composite resources that may fail. Defaults to 0.",
};

/** The fields of a Composition's spec. */
export const COMPOSITION: Descriptions = {
  ...within("compositeTypeRef", "is the kind of composite resources that it composes.", TYPE_REFERENCE),
  ...within("from", "is an older name of compositeTypeRef.", TYPE_REFERENCE),
  mode: "determines what composes: Resources, the default, or Pipeline, the steps of pipeline alone.",
  ...within("resources", "are the templates of the composed resources.", TEMPLATES),
  ...within("to", "is an older name of resources.", TEMPLATES),
  patchSets: "are patches that several templates share.",
  "patchSets.name": "is the name of the patch set.",
  ...within("patchSets.patches", "are the patches, in order.", PATCHES),
  ...within("environment", "is data for templates in addition to the composite resource.", ENVIRONMENT),
  ...within("functions", "run after the templates, in order.", FUNCTION),
  "functions.name": "is the name of the function.",
  ...within("pipeline", "has the steps of mode: Pipeline, in order.", STEPS),
  undesiredResources: "is the fate of resources that no function desires. Defaults to Keep.",
  writeConnectionSecretsToNamespace: "is the namespace of the connection secrets.",
  publishConnectionDetailsWithStoreConfigRef: "is ignored: external secret stores are not supported.",
  "publishConnectionDetailsWithStoreConfigRef.name": "is the name of the StoreConfig.",
  ...within(
    "rollout",
    "determines how a new revision reaches the composite resources. Needs --enable-rollouts.",
    ROLLOUT,
  ),
  ...within("serviceAccountRef", "names the account with whose rights it composes.", referenceTo("ServiceAccount")),
};
