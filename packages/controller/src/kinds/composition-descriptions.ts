import type { Descriptions } from "@xfn/composition/definition";
import { referenceTo } from "./describe.ts";

// docs/reference/composition.md and docs/reference/steps.md describe these fields at length.

const COMBINE: Descriptions = {
  strategy: "strategy is how the values are combined: string, the only one.",
  variables: ["variables are the fields to combine.", { fromFieldPath: "fromFieldPath is the path of the field." }],
  string: ["string combines the values into a string.", { fmt: "fmt is the format, in the syntax of Go's fmt." }],
};

const MATCH: Descriptions = {
  patterns: [
    "patterns are compared in order. The first that matches gives the result.",
    {
      type: "type is how the pattern is compared: literal, the default, or regexp.",
      literal: "literal is the string that the input must be.",
      regexp: "regexp is a regular expression in Go's syntax (RE2), which matches anywhere in the input.",
      result: "result is the result of the pattern: any value.",
    },
  ],
  fallbackValue: "fallbackValue is the result if no pattern matches.",
  fallbackTo:
    "fallbackTo determines the result if no pattern matches: Value, fallbackValue, or Input, the input itself.",
};

const STRING: Descriptions = {
  type: "type is the operation. Defaults to Format.",
  fmt: "fmt is the format of type Format, in the syntax of Go's fmt.",
  convert: "convert is the conversion of type Convert.",
  trim: "trim is the text that TrimPrefix or TrimSuffix removes.",
  regexp: [
    "regexp finds a part of the string, with type Regexp.",
    {
      match: "match is a regular expression in Go's syntax (RE2).",
      group: "group is the number of the capturing group to return. 0, the default, is the whole match.",
    },
  ],
  join: ["join joins the items of a list, with type Join.", { separator: "separator is the text between two items." }],
  replace: [
    "replace replaces a text, with type Replace.",
    {
      search: "search is the text to replace, wherever it is.",
      replace: "replace is the new text. Defaults to the empty string.",
    },
  ],
};

const TRANSFORMS: Descriptions = {
  type: "type is the type of the transform.",
  map: "map has the results by input. Every input must have one.",
  match: ["match compares the input with patterns.", MATCH],
  math: [
    "math calculates with a number.",
    {
      type: "type is the operation. Defaults to Multiply.",
      multiply: "multiply is the factor.",
      clampMin: "clampMin is the least result.",
      clampMax: "clampMax is the greatest result.",
    },
  ],
  string: ["string changes a string.", STRING],
  convert: [
    "convert converts the input to another type.",
    {
      toType: "toType is the type of the result.",
      format: "format is that of the input: quantity for float64, json for object and array. Defaults to none.",
    },
  ],
};

const PATCHES: Descriptions = {
  type: "type determines the source and the target of the patch. Defaults to FromCompositeFieldPath.",
  fromFieldPath: "fromFieldPath is the path of the field to copy.",
  toFieldPath: "toFieldPath is the path of the field to write. Defaults to fromFieldPath.",
  combine: ["combine has the values of a Combine patch.", COMBINE],
  patchSetName: "patchSetName is the name of the patch set whose patches take the place of this one.",
  transforms: ["transforms are applied to the value in order.", TRANSFORMS],
  policy: [
    "policy determines how the patch treats missing and existing fields.",
    {
      fromFieldPath: "fromFieldPath determines if the source must exist: Required, or Optional, the default.",
      mergeOptions: [
        "mergeOptions merge the value into the existing one. Without them, it replaces the existing one.",
        {
          keepMapValues: "keepMapValues determines whether existing values of maps win.",
          appendSlice: "appendSlice determines whether items are appended that the existing list lacks.",
        },
      ],
    },
  ],
};

const TEMPLATES: Descriptions = {
  name: "name identifies the composed resource. Either all templates have names or none has.",
  base: "base is the object before patches.",
  patches: ["patches copy values between the composite resource and the composed resource, in order.", PATCHES],
  connectionDetails: [
    "connectionDetails are the values that the composite resource publishes.",
    {
      name: "name is the key in the connection secret. Defaults to fromConnectionSecretKey.",
      type: "type is the source of the value. Defaults to that of the field which is set.",
      fromConnectionSecretKey: "fromConnectionSecretKey is the key in the composed resource's own connection secret.",
      fromFieldPath: "fromFieldPath is the path of a field of the composed resource.",
      value: "value is the value itself.",
    },
  ],
  readinessChecks: [
    "readinessChecks must all pass for the resource to be ready. Without any, its condition Ready must be True.",
    {
      type: "type is the type of the check.",
      fieldPath: "fieldPath is the path of the field to check.",
      matchString: "matchString is the text that the field must be.",
      matchInteger: "matchInteger is the integer that the field must be.",
      matchCondition: [
        "matchCondition is the condition that the resource must have.",
        { type: "type is the type of the condition.", status: "status is the status of the condition." },
      ],
    },
  ],
};

const ENVIRONMENT: Descriptions = {
  defaultData: "defaultData is the initial data. EnvironmentConfigs are merged over it.",
  environmentConfigs: [
    "environmentConfigs are the EnvironmentConfigs to merge, in order. Later ones win.",
    {
      type: "type determines how EnvironmentConfigs are found: Reference, the default, or Selector.",
      ref: ["ref names an EnvironmentConfig.", { name: "name is the name of the EnvironmentConfig." }],
      selector: [
        "selector finds EnvironmentConfigs by their labels.",
        {
          mode: "mode is Single, the default, for one EnvironmentConfig, or Multiple.",
          maxMatch: "maxMatch is the most EnvironmentConfigs of mode Multiple that are merged.",
          minMatch: "minMatch is the number of EnvironmentConfigs that mode Multiple must find.",
          sortByFieldPath: "sortByFieldPath is the field that orders the matches. Defaults to metadata.name.",
          matchLabels: [
            "matchLabels are the labels that an EnvironmentConfig must have.",
            {
              key: "key is the key of the label.",
              type: "type is the source of the value: FromCompositeFieldPath, the default, or Value.",
              valueFromFieldPath: "valueFromFieldPath is the path of a field of the composite resource.",
              value: "value is the value itself.",
              fromFieldPathPolicy: "fromFieldPathPolicy determines if the field must exist. Defaults to Required.",
            },
          ],
        },
      ],
    },
  ],
  patches: ["patches copy values between the composite resource and the environment, before the templates.", PATCHES],
  policy: [
    "policy determines how EnvironmentConfigs are selected.",
    {
      resolution: "resolution determines if each reference must be found: Required, the default, or Optional.",
      resolve: "resolve determines if each reconcile selects anew: Always, or IfNotPresent, the default.",
    },
  ],
};

const TIMEOUT = "timeout is the longest time of a call, such as 5s.";

const IMAGE: Descriptions = {
  image: "image is the image of the function, with its registry.",
  imagePullPolicy: "imagePullPolicy determines when the image is pulled. Defaults to IfNotPresent.",
  imagePullSecrets: ["imagePullSecrets are the Secrets with the credentials for the registry.", referenceTo("Secret")],
  timeout: TIMEOUT,
  runner: [
    "runner determines which runner runs the function. Defaults to the controller's.",
    { endpoint: "endpoint is the address of a runner that --allowed-runners allows." },
  ],
  network: "network is Isolated, the default, Accessible, or an object whose policy is one of them or Runner.",
  resources: [
    "resources are the resources of a call.",
    {
      limits: [
        "limits are the most that a call can use.",
        { cpu: "cpu is the number of processors, such as 500m.", memory: "memory is the memory, such as 128Mi." },
      ],
      requests: "requests are ignored.",
    },
  ],
};

const FUNCTION: Descriptions = {
  type: "type is how the function runs: Container, Webhook, Wasm, or Chroot, a container without namespaces.",
  container: ["container is the image of a function that runs in a container.", IMAGE],
  wasm: ["wasm is the image of a WebAssembly module.", IMAGE],
  webhook: [
    "webhook is the HTTPS server of a function.",
    {
      url: "url is the https:// URL of the function. Either url or service must be set.",
      service: [
        "service is the Service of the function.",
        {
          ...referenceTo("Service"),
          path: "path is the path of the requests. Defaults to /.",
          port: "port is the port of the Service. Defaults to 443.",
        },
      ],
      caBundle: "caBundle is the certificates that the server's must be signed by: PEM in base64.",
      credentials: [
        "credentials authenticate the caller.",
        { secretRef: ["secretRef names a Secret, whose key token is the bearer token.", referenceTo("Secret")] },
      ],
      timeout: TIMEOUT,
    },
  ],
  config: "config is an object that the function receives as its configuration.",
  io: "io is what the function reads and writes: FunctionIO, the default, or one of two forms of a ResourceList.",
  cache: [
    "cache lets the controller use an output again for the same input.",
    { ttl: "ttl is how long an output can be used again, such as 10m. At most 24h." },
  ],
  timeout: "timeout is the longest time of the whole step: pull, start, retries and call, such as 30s.",
  retries: "retries is how often the step is tried again, while its function cannot have started.",
  when: "when is a CEL expression over observed and desired. If it is false, the step is skipped.",
  schema: "schema is Strict if the desired state of the step must match the schemas of its kinds.",
};

const REQUIRED: Descriptions = {
  requirementName: "requirementName is the name by which the function knows the requirement.",
  apiVersion: "apiVersion is the API version of the kind.",
  kind: "kind is the kind.",
};

const STEPS: Descriptions = {
  ...FUNCTION,
  step: "step is the name of the step.",
  functionRef: [
    "functionRef names a function package of Crossplane.",
    { name: "name is the name of a Function.", package: "package is the image of a package, with a tag or digest." },
  ],
  input: "input is an object that the package receives as its input.",
  credentials: [
    "credentials are Secrets that the package receives.",
    {
      name: "name is the name by which the function knows the credentials.",
      source: "source is the source of the credentials: None or Secret.",
      secretRef: ["secretRef names the Secret.", referenceTo("Secret")],
    },
  ],
  requirements: [
    "requirements are what the package receives in addition to the state.",
    {
      requiredResources: [
        "requiredResources are objects of the cluster, by name or by labels.",
        {
          ...REQUIRED,
          namespace: "namespace is the namespace of the objects.",
          name: "name is the name of the object.",
          matchLabels: "matchLabels are the labels of the objects.",
        },
      ],
      requiredSchemas: ["requiredSchemas are the schemas of kinds.", REQUIRED],
    },
  ],
};

const TYPE_REFERENCE: Descriptions = {
  apiVersion: "apiVersion is the API version of the composite resources.",
  kind: "kind is the kind of the composite resources.",
};

const ROLLOUT: Descriptions = {
  shadow: [
    "shadow composes with a new revision without applying the result, and compares it.",
    { composites: "composites is the number of composite resources to compose in shadow." },
  ],
  canary: [
    "canary is the composite resources that get a new revision first.",
    {
      percent: "percent is their share of all. Either percent or matchLabels must be set.",
      matchLabels: "matchLabels are their labels.",
    },
  ],
  analysis: [
    "analysis determines when a rollout has failed.",
    {
      duration: "duration is how long the canary is watched, up to 24h. Defaults to 5m.",
      maxFailures: "maxFailures is the number of composite resources that may fail. Defaults to 0.",
    },
  ],
};

/** The fields of a Composition's spec. */
export const COMPOSITION: Descriptions = {
  compositeTypeRef: ["compositeTypeRef is the kind of composite resources that it composes.", TYPE_REFERENCE],
  from: ["from is an older name of compositeTypeRef.", TYPE_REFERENCE],
  mode: "mode determines what composes: Resources, the default, or Pipeline, the steps of pipeline alone.",
  resources: ["resources are the templates of the composed resources.", TEMPLATES],
  to: ["to is an older name of resources.", TEMPLATES],
  patchSets: [
    "patchSets are patches that several templates share.",
    { name: "name is the name of the patch set.", patches: ["patches are the patches, in order.", PATCHES] },
  ],
  environment: ["environment is data for templates in addition to the composite resource.", ENVIRONMENT],
  functions: [
    "functions run after the templates, in order.",
    { ...FUNCTION, name: "name is the name of the function." },
  ],
  pipeline: ["pipeline has the steps of mode: Pipeline, in order.", STEPS],
  undesiredResources:
    "undesiredResources determines what happens to resources that no function desires. Defaults to Keep.",
  writeConnectionSecretsToNamespace: "writeConnectionSecretsToNamespace is the namespace of the connection secrets.",
  publishConnectionDetailsWithStoreConfigRef: [
    "publishConnectionDetailsWithStoreConfigRef is ignored: external secret stores are not supported.",
    { name: "name is the name of the StoreConfig." },
  ],
  rollout: ["rollout determines how a new revision reaches the composite resources. Needs --enable-rollouts.", ROLLOUT],
  serviceAccountRef: [
    "serviceAccountRef names the account with whose rights it composes.",
    referenceTo("ServiceAccount"),
  ],
};
