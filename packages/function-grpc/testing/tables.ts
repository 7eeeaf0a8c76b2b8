import {
  CompositionMeta,
  EmitRequestRequest,
  EmitRequestResponse,
  EmitResponseRequest,
  EmitResponseResponse,
  OperationMeta,
  StepMeta,
} from "../src/inspector/messages.ts";

// All messages of the contract.
export { RequestMeta, RunFunctionRequest } from "../src/wire/request.ts";
export { MatchLabels, Requirements, ResourceSelector, SchemaSelector } from "../src/wire/requirements.ts";
export { Condition, ResponseMeta, Result, RunFunctionResponse } from "../src/wire/response.ts";
export { CredentialData, Credentials, Resource, Resources, Schema, State } from "../src/wire/state.ts";

/** All messages of the pipeline inspector. */
export const inspector = {
  CompositionMeta,
  EmitRequestRequest,
  EmitRequestResponse,
  EmitResponseRequest,
  EmitResponseResponse,
  OperationMeta,
  StepMeta,
};
