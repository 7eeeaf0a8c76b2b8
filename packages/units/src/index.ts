export { escapeControls } from "./control-characters.ts";
export { DurationError, formatDuration, MAX_TIMER_MS, parseDuration, tryParseDuration } from "./duration.ts";
export {
  parseQuantity,
  type Quantity,
  QuantityError,
  quantityToBytes,
  quantityToCores,
  quantityToFloat64,
  tryParseQuantity,
} from "./quantity.ts";
export { formatBytes, formatCores, parseBytes, parseMillicores } from "./resource-limit.ts";
