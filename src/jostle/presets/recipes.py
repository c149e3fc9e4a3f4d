"""The trainings that made the zoo, as words of `jostle train`."""

RECIPES = {
    # True state
    "one-cube-state-dagger": "one-cube --method dagger",
    "one-cube-state-td3": (
        "one-cube --values pooled --critic-arch mlp --no-potential-baseline "
        "--self-imitation-weight 0 --no-reach-avoid-edge --no-skip-fallen-goals "
        "--lr-decay-fraction 0"
    ),
    "three-cubes-state-td3": "three-cubes",
    "three-cubes-state-td3-long": (
        "three-cubes --no-curriculum --strategy per-object --env-steps 62720 "
        "--from three-cubes-state-td3 --carry all"
    ),
    "three-cubes-state-td3-varied": (
        "three-cubes --no-curriculum --strategy per-object --env-steps 56000 "
        "--vary size=1..2 shape=cube,star --from three-cubes-state-td3-long --carry all"
    ),
    "three-cubes-state-dagger": "three-cubes --method dagger",
    "mixed-goals-state-dagger": "mixed-goals --method dagger --from three-cubes-state-dagger",
    "small-table-state-td3": "small-table --method td3 --finetune --from three-cubes-state-dagger",
    "ordered-push-state-dagger": "ordered-push --method dagger",
    "push-t-state-dagger": "push-t --method dagger",
    "push-2t-state-dagger": "push-2t --method dagger --from push-t-state-dagger",
    # Images
    "three-cubes-objects-td3": "three-cubes --obs objects",
    "one-cube-pixels-dagger": "one-cube --obs pixels",
    "one-cube-pixels-td3": "one-cube --obs pixels --method td3 --views 1",
    "one-cube-pixels-td3-privileged": (
        "one-cube --obs pixels --method td3-privileged --values pooled"
    ),
    "three-cubes-pixels-dagger": "three-cubes --obs pixels --from one-cube-pixels-dagger",
    "three-cubes-pixels-dagger-colors": (
        "three-cubes --obs pixels --colors random --from three-cubes-pixels-dagger"
    ),
    "cubes-pixels-dagger-colors": (
        "cubes --obs pixels --colors random --teacher three-cubes-state-td3-long --num-envs 48 "
        "--env-steps 216000 --lr-decay-fraction 0.6"
    ),
    "cubes-pixels-dagger-colors-long": (
        "cubes --obs pixels --colors random --teacher three-cubes-state-td3-long --num-envs 48 "
        "--env-steps 105600 --lr 0.0008 --lr-decay-fraction 0.95 --random-episodes 0 "
        "--from cubes-pixels-dagger-colors"
    ),
    "cubes-pixels-dagger-varied": (
        "cubes --obs pixels --colors random --teacher three-cubes-state-td3-varied --num-envs 48 "
        "--env-steps 48000 --lr 0.0008 --lr-decay-fraction 0.95 --random-episodes 0 "
        "--vary size=1..2 shape=cube,star light=0.6..1.2 --drop-view-fraction 0.25 "
        "--from cubes-pixels-dagger-colors-long"
    ),
    "mixed-goals-pixels-dagger-colors": (
        "mixed-goals --obs pixels --colors random --from three-cubes-pixels-dagger-colors"
    ),
    "mixed-goals-pixels-dagger": "mixed-goals --obs pixels --from mixed-goals-pixels-dagger-colors",
    "adjacent-goals-pixels-td3-privileged": (
        "adjacent-goals --obs pixels --method td3-privileged --finetune "
        "--from mixed-goals-pixels-dagger"
    ),
    "mixed-goals-pixels-td3-privileged-colors": (
        "mixed-goals --obs pixels --method td3-privileged --finetune --colors random "
        "--from adjacent-goals-pixels-td3-privileged"
    ),
    "ordered-push-pixels-dagger": (
        "ordered-push --obs pixels --from three-cubes-pixels-dagger-colors"
    ),
    "small-table-pixels-dagger": "small-table --obs pixels --from three-cubes-pixels-dagger-colors",
    "push-t-pixels-dagger": "push-t --obs pixels",
    "push-2t-pixels-dagger": "push-2t --obs pixels --from push-t-pixels-dagger",
}
"""By name of the zoo; a card says what else was set, and for how long it was trained."""

ENCODER_RECIPES: dict[str, tuple[str, ...]] = {
    "dlp-6cubes": (
        "collect NCubes --objects 1 6 --colors random --frames 64000 --no-truth --out {frames}",
        "collect SmallTable --objects 1 4 --colors random --frames 9000 --no-truth --out {frames}",
        "collect OrderedPush --colors random --frames 9000 --no-truth --out {frames}",
        "pretrain dlp --data {frames} --num-backgrounds 3 --steps 16000 --ema-decay 0.998",
    ),
    "dlp-pusht": (
        "collect PushT --objects 1 2 --frames 20000 --no-truth --out {frames}",
        "pretrain dlp --data {frames} --steps 4000 --ema-decay 0.998",
    ),
    "slots-6cubes": (
        "collect NCubes --objects 1 6 --colors random --frames 64000 --no-truth --out {frames}",
        "collect SmallTable --objects 1 4 --colors random --frames 9000 --no-truth --out {frames}",
        "collect OrderedPush --colors random --frames 9000 --no-truth --out {frames}",
        "pretrain slots --data {frames} --scenes 32000 --steps 9000 --ema-decay 0.998 "
        "--precision bf16",
    ),
    "vae-123cubes": (
        "collect NCubes --objects 1 3 --frames 36000 --no-truth --out {frames}",
        "pretrain vae --data {frames} --steps 7000 --ema-decay 0.998 --precision bf16",
    ),
}
"""Words of `jostle` that made the encoders; the last trains, those before collect its frames."""
