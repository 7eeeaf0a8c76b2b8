// The pipeline inspector of Crossplane 2.4: a client and a server for the calls of functions.
export { InspectorClient } from "./inspector-client.ts";
export {
  CompositionMeta,
  EmitRequestRequest,
  EmitResponseRequest,
  OperationMeta,
  StepMeta,
  Timestamp,
} from "./messages.ts";
export { type InspectorHandlers, inspectorServer } from "./serve-inspector.ts";
