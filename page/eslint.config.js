import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    rules: {
      "eqeqeq": "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-shadow": "error",
      "max-lines": ["error", 450],
      "max-lines-per-function": ["error", { max: 60, skipComments: true }],
      "complexity": ["error", 14],
    },
  },
  { files: ["src/**"], languageOptions: { globals: globals.browser } },
  { files: ["*.js", "tests/**"], languageOptions: { globals: globals.node } },
];
