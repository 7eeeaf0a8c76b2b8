import { bytes, Duration, enumeration, type Message, message, optional, text, value } from "@xfn/protobuf";

// The messages of proto/apiextensions/fn/proto/v1alpha1/run_function.proto, which describes their fields.

export const ImagePullPolicy = {
  IMAGE_PULL_POLICY_UNSPECIFIED: 0,
  IMAGE_PULL_POLICY_IF_NOT_PRESENT: 1,
  IMAGE_PULL_POLICY_ALWAYS: 2,
  IMAGE_PULL_POLICY_NEVER: 3,
} as const;
export type ImagePullPolicy = (typeof ImagePullPolicy)[keyof typeof ImagePullPolicy];

export interface ImagePullAuth {
  username: string;
  password: string;
  auth: string;
  identityToken: string;
  registryToken: string;
}

export const ImagePullAuth: Message<ImagePullAuth> = message("ImagePullAuth", {
  username: value(1, text),
  password: value(2, text),
  auth: value(3, text),
  identityToken: value(4, text),
  registryToken: value(5, text),
});

export interface ImagePullConfig {
  pullPolicy: ImagePullPolicy;
  auth?: ImagePullAuth | undefined;
}

export const ImagePullConfig: Message<ImagePullConfig> = message("ImagePullConfig", {
  pullPolicy: value(1, enumeration<ImagePullPolicy>("ImagePullPolicy")),
  auth: optional(2, ImagePullAuth),
});

export const NetworkPolicy = {
  NETWORK_POLICY_UNSPECIFIED: 0,
  NETWORK_POLICY_ISOLATED: 1,
  NETWORK_POLICY_RUNNER: 2,
} as const;
export type NetworkPolicy = (typeof NetworkPolicy)[keyof typeof NetworkPolicy];

export interface NetworkConfig {
  policy: NetworkPolicy;
}

export const NetworkConfig: Message<NetworkConfig> = message("NetworkConfig", {
  policy: value(1, enumeration<NetworkPolicy>("NetworkPolicy")),
});

export interface ResourceLimits {
  memory: string;
  cpu: string;
}

export const ResourceLimits: Message<ResourceLimits> = message("ResourceLimits", {
  memory: value(1, text),
  cpu: value(2, text),
});

export interface ResourceConfig {
  limits?: ResourceLimits | undefined;
}

export const ResourceConfig: Message<ResourceConfig> = message("ResourceConfig", {
  limits: optional(1, ResourceLimits),
});

export interface RunFunctionConfig {
  resources?: ResourceConfig | undefined;
  network?: NetworkConfig | undefined;
  timeout?: Duration | undefined;
}

export const RunFunctionConfig: Message<RunFunctionConfig> = message("RunFunctionConfig", {
  resources: optional(1, ResourceConfig),
  network: optional(2, NetworkConfig),
  timeout: optional(3, Duration),
});

export interface RunFunctionRequest {
  image: string;
  input: Uint8Array;
  imagePullConfig?: ImagePullConfig | undefined;
  runFunctionConfig?: RunFunctionConfig | undefined;
}

export const RunFunctionRequest: Message<RunFunctionRequest> = message("RunFunctionRequest", {
  image: value(1, text),
  input: value(2, bytes),
  imagePullConfig: optional(3, ImagePullConfig),
  runFunctionConfig: optional(4, RunFunctionConfig),
});

export interface RunFunctionResponse {
  output: Uint8Array;
}

export const RunFunctionResponse: Message<RunFunctionResponse> = message("RunFunctionResponse", {
  output: value(1, bytes),
});
