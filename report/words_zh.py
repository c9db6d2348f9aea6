"""The Chinese of every English text that scripts print into the report (words.py)."""

# fmt: off
ZH = {
    "Ablations": "消融实验",
    "Ablations, net {net} on {dataset}, {device}, {epochs} epochs: momentum {momentum}, "
    "weight decay {wd} and augmentation {aug}, and one of them off at a time. Change: of "
    "the test accuracy.":
        "消融实验：网络 {net} 在 {dataset} 上训练 {epochs} 轮（{device}）："
        "动量 {momentum}、权重衰减 {wd}、数据增强 {aug}，每次关闭其中一项。"
        "变化指测试准确率的变化。",
    "Confusion matrix": "混淆矩阵",
    "Confusion matrix of net {net} on the {images} test images of {dataset}, {device}; accuracy "
    "{acc} %.":
        "网络 {net} 在 {dataset} 的 {images} 张测试图像上的混淆矩阵（{device}）；"
        "准确率 {acc} %。",
    "Convolution": "卷积",
    "Convolutions by tensor cores": "张量核心卷积",
    "Convolutions of net c by tensor cores, batch {batch}, microseconds of each pass as Nsight "
    "Compute times its kernels: ours do bias, ReLU and pool, too, cuDNN's the convolution alone. "
    "The ratio is that of the sums.":
        "网络 c 的张量核心卷积，批大小 {batch}，各遍耗时（微秒）由 Nsight "
        "Compute 计量：本实现的核函数还完成偏置、ReLU 和池化，cuDNN 只"
        "做卷积。比值为总和之比。",
    "Convolution 3×3, pad 1, forward and backward, {device}, by {what} ({fixed}): median and "
    "quartiles of {repeats} runs; the ratio is ours to PyTorch's.":
        "3×3 卷积（填充 1）前向加反向，{device}，随{what}变化（{fixed}）："
        "{repeats} 次运行的中位数和四分位数；比值为本实现与 PyTorch 之比。",
    "Convolution time": "卷积耗时",
    "Convolution, forward and backward, {device}: time against each parameter, with quartiles.":
        "卷积前向加反向（{device}）：耗时随各参数的变化，附四分位数。",
    "DRAFT": "草稿",
    "Each table and plot, the numbers of its origins, and the commands that measure it again:":
        "各表各图的来源编号，以及重新测量的命令：",
    "Errors of {count} claims of the labs: the largest of each, against the definition in double "
    "or against central differences; right of the dashed line a claim fails.":
        "实验中 {count} 个检查项的最大误差，与双精度定义或中心差分对照"
        "；虚线右侧即为不通过。",
    "FLOP a byte": "每字节浮点运算数",
    "Figure": "图",
    "First-layer filters": "第一层卷积核",
    "Forward and backward": "前向与反向",
    "Forward, and forward with backward, {device}, over {repeats} runs ({what}); the ratio is ours "
    "to PyTorch's.":
        "前向、前向加反向（{device}），共 {repeats} 次运行（{what}）；比值为"
        "本实现与 PyTorch 之比。",
    "GPU": "GPU",
    "Gradient checks": "梯度检查",
    "Kernel ladder": "核函数阶梯",
    "Lab scores": "实验得分",
    "Lab scores by `make grade`: practice, on seeds that everybody knows; the official grade "
    "comes from the instructor.":
        "`make grade` 给出的实验得分：仅为练习，种子公开；正式成绩由教师"
        "评定。",
    "Left out": "未采用的结果",
    "Loss and accuracy": "损失与准确率",
    "Ladder, rung by rung": "逐级阶梯",
    "Machine and software": "机器与软件",
    "Machine and software, as the programs reported them.": "程序所报告的机器与软件。",
    "Measured at commit {commits}; the code has changed since.":
        "测量于提交 {commits}；此后代码已有改动。",
    "Misclassified images": "分类错误的图像",
    "Net {net} on {dataset}, {device}, epoch by epoch: means over seeds {seeds}.":
        "网络 {net} 在 {dataset} 上逐轮的结果（{device}）：种子 {seeds} 的平均值"
        "。",
    "Net {net}, {device}: loss and accuracy, ours and PyTorch's; the line is the mean, the band "
    "goes from the smallest to the largest of seeds {seeds}.":
        "网络 {net}（{device}）：本实现与 PyTorch 的损失和准确率；线为平均值"
        "，色带为种子 {seeds} 的最小值到最大值。",
    "Not trained yet: {commands}": "尚未训练：{commands}",
    "Operations of a training step": "训练步中的算子",
    "Operations of a training step, net {net}, batch {batch}, {device}: {who}.":
        "一个训练步中的算子，网络 {net}，批大小 {batch}，{device}：{who}。",
    "Other programs took {busy} % of the processor when this was measured: take the ratios with "
    "care.":
        "测量时其他程序占用了处理器的 {busy} %，比值仅供参考。",
    "PyTorch ran without cudnn.benchmark: it can be quicker.":
        "此处 PyTorch 未启用 cudnn.benchmark，还可以更快。",
    "PyTorch, by its own profiler": "PyTorch,由其自带的分析器测得",
    "Roofline": "屋顶线",
    "Roofline of the ladder": "阶梯的屋顶线",
    "Roofline of the ladder, {device}: what each rung reaches with cold caches, under the "
    "measured ceilings: {flops} GFLOP/s in a product, {bytes} GB/s in a copy.":
        "阶梯的屋顶线（{device}）：各级核函数在冷缓存下达到的性能，及实测上限："
        "矩阵乘 {flops} GFLOP/s，拷贝 {bytes} GB/s。",
    "Roofline, {device}: what each operation of a training step reaches, under the measured "
    "ceilings: {flops} GFLOP/s in a product, {bytes} GB/s in a copy.":
        "屋顶线（{device}）：训练步中各算子达到的性能，及实测上限：矩阵"
        "乘 {flops} GFLOP/s,拷贝 {bytes} GB/s。",
    "STALE": "已过期",
    "Table": "表",
    "The ladder rung by rung, {device}: each operation at its costliest shape, with warm and "
    "with cold caches; rates, speed beside rung 0 (the plain path, in fp32) and share of the "
    "ceiling measured in the rung's precision are of cold ones.":
        "逐级阶梯（{device}）：各算子取其最大的形状，分热缓存与冷缓存；速率、相对第 0 级"
        "（朴素实现，fp32）的速度及该级精度下实测上限的占比均取自冷缓存。",
    "The ladder, {device}: one convolution, forward and backward, on the plain path (none) and "
    "with quicker kernels.":
        "阶梯（{device}）：同一卷积的前向加反向，朴素实现（none）与更快的"
        "核函数。",
    "The {count} test images that net {net} is most sure about and wrong, {device}: true class, "
    "and its answer.":
        "网络 {net} 最有把握却答错的 {count} 张测试图像（{device}）：真实类别"
        "与网络的回答。",
    "The {k} filters of the first convolution of net {net}, {device}: weights of the three "
    "colours, each filter scaled to itself; zero is middle grey.":
        "网络 {net} 第一个卷积层的 {k} 个卷积核（{device}）：三种颜色的权重"
        "，各自缩放；零为中灰。",
    "Time of a training step against the batch size, {device}; PyTorch's in its quickest way.":
        "训练步耗时随批大小的变化（{device}）；PyTorch 取其最快方式。",
    "To fill this gap": "补全方法",
    "Training": "训练",
    "Training steps": "训练步",
    "Training steps and batch size": "训练步与批大小",
    "Training steps of net {net} on the GPU, alternating in one run; each of PyTorch's ways in "
    "the quicker of its two layouts. Time: median and quartiles. MiB: memory at its peak without "
    "the data set. The ratio is ours to that way, all in float32; what rounds its inputs stands "
    "below, for comparison only.":
        "网络 {net} 在 GPU 上的训练步，同一次运行中交替测量；PyTorch 各方"
        "式取两种布局中较快者。时间：中位数和四分位数。MiB：不含数据"
        "集的内存峰值。比值为本实现与该方式之比，均为 float32；舍入输"
        "入的方式列于其下，仅供参考。",
    "The same of net {net} in {precision}: products of rounded numbers, ours and PyTorch's. "
    "The ratio is ours to that way.":
        "网络 {net} 以 {precision} 计算时的同样比较：双方的乘积都使用舍入"
        "后的数。比值为本实现与该方式之比。",
    "Training steps on the CPU, alternating in one run; PyTorch in the quickest of its "
    "configurations. Time: median and quartiles. MiB: memory at its peak without the data set, "
    "as the two allocators count it. A ratio below 1 says that ours is quicker.":
        "CPU 上的训练步，同一次运行中交替测量；PyTorch 取其最快的配置。"
        "时间：中位数和四分位数。MiB：不含数据集的内存峰值，由两个分"
        "配器各自计数。比值小于 1 表示本实现更快。",
    "Training, epoch by epoch": "逐轮训练结果",
    "Training, {device}: test accuracy and loss after the last epoch, time without evaluation, "
    "images a second. Mean over the seeds, in brackets the smallest and the largest.":
        "训练（{device}）：最后一轮后的测试准确率和损失、不含评估的时间"
        "、每秒图像数。为各种子的平均值，括号内为最小值和最大值。",
    "Whole trainings": "完整训练",
    "Whole trainings on the GPU, {epochs} epochs with augmentation and evaluation, from equal "
    "weights; PyTorch in its quickest loop, its step compiled and in one CUDA graph. Mean over "
    "{seeds} seeds, in brackets the smallest and the largest. The ratio is that of medians.":
        "GPU 上的完整训练，{epochs} 轮，含数据增强和评估，初始权重相同；"
        "PyTorch 用其最快的循环，训练步经编译并捕获为一个 CUDA 图。为 {seeds} "
        "个种子的平均值，括号内为最小值和最大值。比值为中位数之比。",
    "a student's own files, without quicker kernels":
        "学生自己编写的文件，不含更快的核函数",
    "accuracy (%)": "准确率 (%)",
    "all others": "其余",
    "answer of the net": "网络的回答",
    "batch": "批大小",
    "calls a step": "每步调用",
    "channels": "通道数",
    "claims": "检查项数",
    "commit": "提交",
    "conv2d": "卷积",
    "data set": "数据集",
    "data sets": "数据集",
    "date": "日期",
    "devices": "设备",
    "epoch": "轮",
    "epochs": "轮数",
    "extra": "附加分",
    "failed": "不通过",
    "fwd": "前向",
    "fwd+bwd": "前向加反向",
    "images/s": "图像/秒",
    "inside a CUDA graph": "CUDA 图内",
    "lab": "实验",
    "largest error, as a share of what is allowed (power of ten)":
        "最大误差与允许值之比（10 的幂）",
    "it could not be measured": "无法测量",
    "layout": "布局",
    "layout, threads": "布局、线程",
    "layer": "层",
    "linear": "全连接",
    "loss": "损失",
    "measured": "测量日期",
    "net": "网络",
    "no convolution was timed": "没有卷积的计时",
    "no finished training run": "没有完成的训练",
    "no gradient check has left its errors": "没有梯度检查的误差记录",
    "no lab has been graded here": "此处尚未评分",
    "no operation was timed over many runs": "没有算子的多次计时",
    "no results": "没有结果",
    "no run was profiled": "没有性能分析",
    "no trained net was asked about the test images":
        "没有训练好的网络对测试图像的回答",
    "no training step was timed": "没有训练步的计时",
    "no training step was timed on a GPU": "没有 GPU 上训练步的计时",
    "no whole training was timed on a GPU": "尚未在 GPU 上对完整训练计时",
    "not implemented yet": "尚未实现",
    "not measured": "未测量",
    "on the GPU machine": "在 GPU 机器上",
    "operation": "算子",
    "ours": "本实现",
    "ours, counted in the dispatch table": "本实现，在分派表中计数",
    "ours: sources": "本实现的 sources",
    "passed": "通过",
    "pixels a side": "边长（像素）",
    "points": "得分",
    "precision": "精度",
    "processor": "处理器",
    "ratio": "比值",
    "rungs": "阶梯级",
    "seed": "种子",
    "all three": "三项全开",
    "change (%)": "变化 (%)",
    "no run without momentum, without weight decay or without augmentation beside one that has all "
    "three":
        "没有与三项全开的训练相对照、关闭动量、权重衰减或数据增强的训练",
    "without augmentation": "关闭数据增强",
    "without momentum": "关闭动量",
    "without weight decay": "关闭权重衰减",
    "seeds": "种子数",
    "share (%)": "占比 (%)",
    "sources": "sources",
    "steps of one batch size only": "只有一种批大小的训练步",
    "test": "测试",
    "test acc. (%)": "测试准确率 (%)",
    "test accuracy (%)": "测试准确率 (%)",
    "test loss": "测试损失",
    "the ceilings of this machine were not measured": "没有测量本机的性能上限",
    "the net has no filters to show": "网络没有可显示的卷积核",
    "the net made no mistake": "网络没有出错",
    "the quicker kernels were not timed beside the plain path":
        "没有更快的核函数与朴素实现的对照计时",
    "the test images of {dataset} are not here": "此处没有 {dataset} 的测试图像",
    "threads": "线程",
    "total": "合计",
    "time": "时间",
    "time (s)": "时间 (s)",
    "time a step ({unit})": "每步时间 ({unit})",
    "time of a step": "一步的时间",
    "train": "训练",
    "train loss": "训练损失",
    "true class": "真实类别",
    "version": "版本",
    "wall clock with synchronise": "含同步的实际时间",
    "A net of our operators inside PyTorch":
        "由自制算子构成、在 PyTorch 中训练的网络",
    "Calls of a step inside PyTorch": "PyTorch 中一个训练步的调用",
    "Operators inside PyTorch": "PyTorch 中的算子",
    "ours, from Python": "本实现，Python 方式",
    "ours, in C++": "本实现，C++ 方式",
    "no operator was timed inside PyTorch": "没有 PyTorch 中算子的计时",
    "no net was trained inside PyTorch": "没有在 PyTorch 中训练过网络",
    "no step was profiled inside PyTorch": "没有 PyTorch 中训练步的分析结果",
    "operators": "算子来源",
    "last (%)": "最后一轮 (%)",
    "best (%)": "最佳 (%)",
    "all (s)": "总计 (s)",
    "an epoch (s)": "每轮 (s)",
    "Operators inside PyTorch, {device}: its own, and ours by two ways; over {repeats} runs "
    "and over {few}; the ratios are to PyTorch's own.":
        "PyTorch 中的算子（{device}）：其自带的，以及本实现的两种"
        "接入方式；分别为 {repeats} 次和 {few} 次运行；比值均相"
        "对于 PyTorch 自带的算子。",
    "Net {net} on {dataset}, {device}, {epochs} epochs by PyTorch's own operators and by ours: "
    "accuracy after the last and after the best epoch, seconds of all and of the middle one.":
        "网络 {net} 在 {dataset} 上（{device}）用 Py"
        "Torch 自带算子与本实现的算子各训练 {epochs} 轮：最后一轮"
        "与最佳一轮的准确率，总秒数与中位一轮的秒数。",
    "What a step of net {net} calls, {device}, batch {batch}: the first {shown} operations of "
    "each way by the time that they take themselves.":
        "网络 {net} 一个训练步的调用（{device}，批大小 {batc"
        "h}）：各方式按自身耗时排列的前 {shown} 个算子。",
    "ceiling (%)": "占上限（%）",
    "cold": "冷缓存",
    "no convolution by tensor cores was timed": "尚未对张量核心卷积计时",
    "no rung was timed": "尚未对任何一级计时",
    "of rung 0": "相对第 0 级",
    "rung": "级",
    "warm": "热缓存",
}
