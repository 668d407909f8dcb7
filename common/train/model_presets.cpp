// Models by name.
//
// Sources: Radford et al. 2019 (GPT-2), table 2; Brown et al. 2020 (GPT-3), table 2.1; Rajbhandari
// et al. 2020 (ZeRO), figure 1, table 1 and appendix; Narayanan et al. 2021 (Megatron-LM), table 1;
// Grattafiori et al. 2024 (LLaMA 3), table 3.
#include "common/train/model_presets.h"

namespace zero {

const std::vector<ModelPreset>& model_presets() {
  static const std::vector<ModelPreset> presets = {
      {"gpt2",
       {.layers = 12, .heads = 12, .channels = 768, .context = 1024, .vocab = 50257},
       "GPT-2 small, called 124M; here the head is not tied to the embedding, which adds 39M"},
      {"gpt2-xl",
       {.layers = 48, .heads = 25, .channels = 1600, .context = 1024, .vocab = 50257},
       "GPT-2 XL, called 1.5B; the head, not tied to the embedding, adds 80M"},
      {"7.5b",
       {.layers = 36, .heads = 32, .channels = 4096, .context = 1024, .vocab = 30045},
       "the 7.5B of the ZeRO paper's figure 1, which gives no shape: the vocabulary makes it "
       "7.50B"},
      {"llama3-8b",
       {.layers = 34, .heads = 32, .channels = 4096, .context = 2048, .vocab = 128256},
       "approximates LLaMA-3 8B (8.03B), whose blocks are smaller: 34 layers here for its 32; "
       "context 2,048 for its 8,192, because the attention here keeps its T x T weights"},
      {"100b",
       {.layers = 125, .heads = 64, .channels = 8192, .context = 1024, .vocab = 50257},
       "the 100B that the ZeRO paper trained on 400 GPUs"},
      {"128b",
       {.layers = 158, .heads = 64, .channels = 8192, .context = 1024, .vocab = 44944},
       "the 128B of the ZeRO paper's table 1, which gives no shape: the vocabulary makes it "
       "128.0B"},
      {"gpt3-175b",
       {.layers = 96, .heads = 96, .channels = 12288, .context = 2048, .vocab = 50257},
       "GPT-3, whose attention is sparse in every second layer: here it is dense"},
      {"1t",
       {.layers = 127, .heads = 160, .channels = 25600, .context = 256, .vocab = 23096},
       "Megatron's 1T less one layer, so that it is 1.000T; context 256, because a longer one "
       "needs "
       "more than 80 GB without activation checkpointing"}};
  return presets;
}

const ModelPreset* find_model_preset(const std::string& key) {
  for (const ModelPreset& preset : model_presets()) {
    if (preset.key == key) return &preset;
  }
  return nullptr;
}

}  // namespace zero
